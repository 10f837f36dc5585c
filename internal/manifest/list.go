package manifest

import "io/fs"

// List collects the objects that a renderer creates from its assets, until the first error.
type List struct {
	// Assets has the files assets/*.yaml.
	Assets fs.FS
	// Policy is the policy of every object.
	Policy Policy

	objects []Object
	err     error
}

// Result returns the objects in the order in which they were added, or the first error and no objects.
func (l *List) Result() ([]Object, error) {
	if l.err != nil {
		return nil, l.err
	}
	return l.objects, nil
}

// Add adds an object.
func (l *List) Add(obj Typed) {
	if l.err != nil {
		return
	}
	o, err := New(obj, l.Policy)
	if err != nil {
		l.err = err
		return
	}
	l.objects = append(l.objects, o)
}

// Append adds objects, or their error.
func (l *List) Append(objects []Object, err error) {
	l.objects = append(l.objects, objects...)
	l.Fail(err)
}

// Fail records an error, unless it is nil or there is one already.
func (l *List) Fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// AddAsset adds the object of the asset of a name, without its extension, changed by set if that is not nil.
func AddAsset[T any, P interface {
	*T
	Typed
}](l *List, name string, set func(P)) {
	obj, err := Decode[T](l.Assets, "assets/"+name+".yaml")
	if err != nil {
		l.Fail(err)
		return
	}
	if set != nil {
		set(P(obj))
	}
	l.Add(P(obj))
}
