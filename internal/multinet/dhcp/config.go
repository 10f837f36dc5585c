package dhcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
)

// Config has the options that an attachment sends and requests. The zero value has none.
type Config struct {
	// ClientID is option 61.
	ClientID []byte
	// Provide are further options to send, by code.
	Provide map[uint8]string
	// Request are the codes of the requested options, in this order.
	Request []uint8
	// Priority is the metric of the routes; 0 leaves it to the kernel.
	Priority int
}

// legacySocket is the default socket of containernetworking's daemon, which configurations may name.
const legacySocket = "/run/cni/dhcp.sock"

// reader reads "ipam" of a network configuration.
type reader struct {
	config Config
	args   map[string]string
	// skipDefault omits the options of defaultRequest.
	skipDefault bool
	errs        field.ErrorList
}

// ReadConfig reads the key "ipam" of a plugin's configuration, as containernetworking documents it for its plugin dhcp: type, provide, request,
// priority, daemonSocketPath. Keys that are unknown or differ in case are errors. args are the CNI_ARGS. All errors are returned at once. ClientID is
// that of "provide", or nil.
func ReadConfig(text string, args map[string]string) (Config, field.ErrorList) {
	value, errs := strictjson.Parse(text, field.NewPath("config"))
	if len(errs) > 0 {
		return Config{}, errs
	}
	r := reader{args: args, config: Config{Provide: map[uint8]string{}}}
	top, ok := value.(*strictjson.Object)
	if !ok {
		return Config{}, field.ErrorList{strictjson.WrongType(field.NewPath("config"), value, "an object")}
	}
	path := field.NewPath("ipam")
	for _, key := range top.Keys {
		if key != "ipam" && strings.EqualFold(key, "ipam") {
			r.errs = append(r.errs, field.Invalid(field.NewPath(strictjson.Short(key)), strictjson.Short(key), "is read as ipam by some plugins; write ipam"))
		}
	}
	ipam, ok := top.Values["ipam"].(*strictjson.Object)
	if !ok {
		return Config{}, append(r.errs, field.Required(path, `must be an object with "type": "dhcp"`))
	}
	r.object(ipam, path, ipamKeys)
	if !r.skipDefault {
		r.request(defaultRequest()...)
	}
	slices.SortStableFunc(r.config.Request, routesFirst)
	return r.config, r.errs
}

// readKey reads a value.
type readKey func(r *reader, value any, at *field.Path)

// ipamKeys are the keys of "ipam", provideKeys and requestKeys those of the elements of its lists.
var (
	ipamKeys = map[string]readKey{
		"type":             (*reader).readType,
		"provide":          (*reader).readProvide,
		"request":          (*reader).readRequest,
		"priority":         (*reader).readPriority,
		"daemonSocketPath": (*reader).readSocket,
	}
	provideKeys = []string{"option", "value", "fromArg"}
	requestKeys = []string{"option", "skipDefault"}
)

func (r *reader) object(o *strictjson.Object, at *field.Path, keys map[string]readKey) {
	names := slices.Collect(maps.Keys(keys))
	for _, key := range o.Keys {
		if read, ok := keys[key]; ok {
			read(r, o.Values[key], at.Child(key))
			continue
		}
		r.unknown(at, key, names)
	}
}

// refused are keys with a message of their own, because users may expect support.
var refused = map[string]string{
	"ipv6":   "is not supported: addresses come from DHCPv4 only; use whereabouts or static for IPv6",
	"dhcpv6": "is not supported: addresses come from DHCPv4 only; use whereabouts or static for IPv6",
}

func (r *reader) unknown(at *field.Path, key string, names []string) {
	if sentence, ok := refused[strings.ToLower(key)]; ok {
		r.errs = append(r.errs, field.Forbidden(at.Child(key), sentence))
		return
	}
	r.errs = append(r.errs, strictjson.UnknownKey(at, key, names))
}

func (r *reader) readType(value any, at *field.Path) {
	if value != "dhcp" {
		r.errs = append(r.errs, field.Forbidden(at, `must be "dhcp"`))
	}
}

func (r *reader) readSocket(value any, at *field.Path) {
	if value != "" && value != legacySocket {
		r.errs = append(r.errs, field.Forbidden(at, "must be left out, or be "+legacySocket+": the agent of this node has one socket"))
	}
}

func (r *reader) readPriority(value any, at *field.Path) {
	number, _ := value.(json.Number)
	n, err := strconv.ParseInt(number.String(), 10, 64)
	if err != nil || n < 0 || n > math.MaxInt32 {
		r.errs = append(r.errs, field.Forbidden(at, fmt.Sprintf("must be a metric from 0 to %d", math.MaxInt32)))
		return
	}
	r.config.Priority = int(n)
}

// elements calls read for each element of a list of objects.
func (r *reader) elements(value any, at *field.Path, keys []string, read func(o *strictjson.Object, at *field.Path)) {
	list, ok := value.([]any)
	if !ok {
		r.errs = append(r.errs, strictjson.WrongType(at, value, "a list"))
		return
	}
	for i, element := range list {
		o, ok := element.(*strictjson.Object)
		if !ok {
			r.errs = append(r.errs, strictjson.WrongType(at.Index(i), element, `an object with "option"`))
			continue
		}
		for _, key := range o.Keys {
			if !slices.Contains(keys, key) {
				r.unknown(at.Index(i), key, keys)
			}
		}
		read(o, at.Index(i))
	}
}

// text returns a string, or the empty one if there is none.
func (r *reader) text(o *strictjson.Object, key string, at *field.Path) string {
	value, found := o.Values[key]
	s, ok := value.(string)
	if found && !ok {
		r.errs = append(r.errs, strictjson.WrongType(at.Child(key), value, "a string"))
	}
	return s
}

func (r *reader) readProvide(value any, at *field.Path) {
	r.elements(value, at, provideKeys, func(o *strictjson.Object, at *field.Path) {
		code, ok := r.option(r.text(o, "option", at), at.Child("option"))
		text, arg := r.text(o, "value", at), r.text(o, "fromArg", at)
		if text == "" && arg == "" {
			r.errs = append(r.errs, field.Required(at, "needs value or fromArg"))
			return
		}
		// If the runtime does not pass the argument, the value is used.
		if given, found := r.args[arg]; found && arg != "" {
			text = given
		}
		switch {
		case !ok || text == "":
		case slices.Contains(own, code):
			r.errs = append(r.errs, field.Forbidden(at.Child("option"), fmt.Sprintf("option %d cannot be provided: the client sets it itself", code)))
		case len(text) > math.MaxUint8:
			r.errs = append(r.errs, field.TooLong(at, "", math.MaxUint8))
		case code == optionClientID:
			r.config.ClientID = []byte(text)
		default:
			r.config.Provide[code] = text
		}
	})
}

func (r *reader) readRequest(value any, at *field.Path) {
	r.elements(value, at, requestKeys, func(o *strictjson.Object, at *field.Path) {
		if skip, found := o.Values["skipDefault"]; found {
			b, ok := skip.(bool)
			if !ok {
				r.errs = append(r.errs, strictjson.WrongType(at.Child("skipDefault"), skip, "true or false"))
			}
			r.skipDefault = r.skipDefault || b
		}
		name := r.text(o, "option", at)
		if _, found := o.Values["option"]; !found || name == "" {
			return
		}
		if code, ok := r.option(name, at.Child("option")); ok {
			r.request(code)
		}
	})
}

func (r *reader) request(codes ...uint8) {
	for _, code := range codes {
		if !slices.Contains(r.config.Request, code) {
			r.config.Request = append(r.config.Request, code)
		}
	}
}

// option returns the code of an option from its name or number.
func (r *reader) option(name string, at *field.Path) (code uint8, ok bool) {
	if code, ok := optionNames[name]; ok {
		return code, true
	}
	n, err := strconv.ParseUint(name, 10, 8)
	if err != nil || n == 0 || n == math.MaxUint8 {
		names := slices.Sorted(maps.Keys(optionNames))
		r.errs = append(r.errs, field.Invalid(at, strictjson.Short(name), "must be a number from 1 to 254 as text, or one of "+strings.Join(names, ", ")))
		return 0, false
	}
	return uint8(n), true
}
