package cabundleinjection

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func entry(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, FieldsV1: metav1.NewFieldsV1(fields)}
}

// all are the fields that this controller writes.
const all = `{"f:data":{"f:ca-bundle.crt":{}},"f:metadata":{"f:annotations":{"f:network.operator.openshift.io/trusted-ca-bundle-hash":{}},"f:labels":{}}}`

func TestOnlyOwnedFieldsCountAsCurrent(t *testing.T) {
	apply, update := metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	me := string(fieldManager)
	for _, row := range []struct {
		why     string
		label   string
		entries []metav1.ManagedFieldsEntry
		want    map[string]string
	}{
		{"all is ours", marked, []metav1.ManagedFieldsEntry{entry(me, apply, all)}, map[string]string{hashAnnotation: "h"}},
		{"others have other keys", marked, []metav1.ManagedFieldsEntry{entry("kubectl", update, `{"f:data":{"f:mine":{}}}`), entry(me, apply, all)}, map[string]string{hashAnnotation: "h"}},
		{"the key was taken over", marked, []metav1.ManagedFieldsEntry{entry("kubectl", update, `{"f:data":{"f:ca-bundle.crt":{}}}`),
			entry(me, apply, strings.Replace(all, "f:ca-bundle.crt", "f:x", 1))}, map[string]string{contenderAnnotation: "kubectl"}},
		{"the hash was taken over", marked, []metav1.ManagedFieldsEntry{entry(me, apply, strings.Replace(all, "-hash", "-x", 1))}, map[string]string{}},
		{"the same name has updated, not applied", marked, []metav1.ManagedFieldsEntry{entry(me, update, all)}, map[string]string{contenderAnnotation: me}},
		{"the mark is missing", "", []metav1.ManagedFieldsEntry{entry(me, apply, all)}, map[string]string{}},
		{"no one knows who has written what", marked, nil, map[string]string{}},
		{"fields that cannot be read", marked, []metav1.ManagedFieldsEntry{entry(me, apply, "x")}, map[string]string{}},
	} {
		t.Run(row.why, func(t *testing.T) {
			m := target(types.NamespacedName{Namespace: "n", Name: "a"})
			m.Annotations = map[string]string{hashAnnotation: "h", "long": strings.Repeat("x", 1000)}
			m.Labels = map[string]string{InjectLabel: "true", markLabel: row.label}
			m.ManagedFields = row.entries
			for range 2 { // once more changes nothing
				kept, err := trim(m)
				if err != nil {
					t.Fatal(err)
				}
				m = kept.(*metav1.PartialObjectMetadata)
				if diff := cmp.Diff(row.want, m.Annotations); diff != "" || m.Labels != nil || m.ManagedFields != nil {
					t.Errorf("labels %v\n%s", m.Labels, diff)
				}
			}
		})
	}
	if other, err := trim(&corev1.Pod{}); err != nil || other == nil {
		t.Errorf("another kind: %v, %v", other, err)
	}
}

func TestBodyHasOurFieldsOnly(t *testing.T) {
	m := target(types.NamespacedName{Namespace: "n", Name: "a"})
	m.UID = "u"
	for why, row := range map[string]struct {
		bundle *bundle
		want   string
	}{
		"certificates": {&bundle{hash: "h", encoded: []byte(`"a\nb"`)}, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n","uid":"u",
			"annotations":{"network.operator.openshift.io/trusted-ca-bundle-hash":"h","openshift.io/owning-component":"Networking / cluster-network-operator"},
			"labels":{"network.operator.openshift.io/trusted-ca-bundle":"injected"}},"data":{"ca-bundle.crt":"a\nb"}}`},
		"nothing": {nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n","uid":"u"}}`},
	} {
		content, err := body(m, row.bundle)
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		if err := errors.Join(json.Unmarshal(content, &got), json.Unmarshal([]byte(row.want), &want)); err != nil {
			t.Fatalf("%s: %v\n%s", why, err, content)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", why, diff)
		}
	}
}

func TestResponsesOfTheAPIServer(t *testing.T) {
	kind, resource := schema.GroupKind{Kind: "ConfigMap"}, schema.GroupResource{Resource: "configmaps"}
	terminating := apierrors.NewForbidden(resource, "a", errors.New("because it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for _, row := range []struct {
		why, reason  string
		err          error
		quiet        bool
		requeueAfter time.Duration
	}{
		{"the ConfigMap is deleted", "", apierrors.NewNotFound(resource, "a"), true, 0},
		{"another one has its name", "", apierrors.NewConflict(resource, "a", errors.New("uid mismatch")), true, 0},
		{"its namespace is terminating", "", terminating, true, 0},
		{"immutable", reasonImmutable, apierrors.NewInvalid(kind, "a", field.ErrorList{field.Forbidden(field.NewPath("data"), "field is immutable when `immutable` is set")}), false, 0},
		{"too long", reasonTooLarge, apierrors.NewInvalid(kind, "a", field.ErrorList{field.TooLong(field.NewPath(""), "", 1048576)}), false, 0},
		{"too long for the server", reasonTooLarge, apierrors.NewRequestEntityTooLargeError("limit is 3145728"), false, 0},
		{"too long for etcd", reasonTooLarge, apierrors.NewInternalError(errors.New("etcdserver: request is too large")), false, 0},
		{"a quota", reasonRefused, apierrors.NewForbidden(resource, "a", errors.New("exceeded quota")), false, refusedRetry},
		{"an admission webhook", reasonRefused, apierrors.NewBadRequest(`admission webhook "x" denied the request`), false, refusedRetry},
		{"the server is busy", "none", apierrors.NewTooManyRequests("later", 1), false, 0},
		{"a server error", "none", apierrors.NewInternalError(errors.New("x")), false, 0},
		{"no answer", "none", &http.MaxBytesError{}, false, 0},
	} {
		got := refusalOf(row.err)
		if row.reason == "none" {
			if got != nil {
				t.Errorf("%s: %+v", row.why, got)
			}
			continue
		}
		if got == nil || got.reason != row.reason || got.quiet != row.quiet || got.requeueAfter != row.requeueAfter || (got.message == "") != row.quiet {
			t.Errorf("%s: %+v", row.why, got)
		}
	}
}

func TestMemoryBacksOffForContestedConfigMaps(t *testing.T) {
	counts := map[string]int{}
	m := &memory{records: map[types.NamespacedName]*record{}, changed: func(state string, by int) { counts[state] += by }}
	key, now, version := types.NamespacedName{Name: "a"}, time.Unix(1_000_000, 0), 100
	next := func() string {
		version++
		return metav1.ObjectMeta{ResourceVersion: string(rune('0'+version/100)) + string(rune('0'+version/10%10)) + string(rune('0'+version%10))}.ResourceVersion
	}
	if v := m.decide(key, "u", next(), "h", now); !v.write {
		t.Fatal("the first time is not written")
	}
	stale := next()
	m.written(key, "u", next(), "h", now)
	if v := m.decide(key, "u", stale, "h", now); v.write || v.requeueAfter != 0 {
		t.Errorf("a version from before the write is taken for a change: %+v", v)
	}
	var waits []time.Duration
	for range 14 {
		v := m.decide(key, "u", next(), "h", now)
		if !v.write {
			waits = append(waits, v.requeueAfter)
			if requeueAfter := m.decide(key, "u", next(), "h", now.Add(v.requeueAfter/2)); requeueAfter.write || requeueAfter.contested || requeueAfter.requeueAfter != v.requeueAfter-v.requeueAfter/2 {
				t.Errorf("while it waits: %+v", requeueAfter)
			}
			now = now.Add(v.requeueAfter)
			if requeueAfter := m.decide(key, "u", next(), "h", now); !requeueAfter.write {
				t.Errorf("after it has waited: %+v", requeueAfter)
			}
		}
		m.written(key, "u", next(), "h", now)
	}
	s := time.Second
	if diff := cmp.Diff([]time.Duration{10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 320 * s, 600 * s, 600 * s, 600 * s, 600 * s, 600 * s}, waits); diff != "" {
		t.Error(diff)
	}
	if v := m.decide(key, "u", next(), "h", now.Add(contestedWithin+s)); !v.write {
		t.Errorf("after a long peace: %+v", v)
	}
	if v := m.decide(key, "another", next(), "h", now); !v.write {
		t.Errorf("another one of that name: %+v", v)
	}
	m.forget(key)
	m.forget(key)
	for state, n := range counts {
		if n != 0 {
			t.Errorf("%d are %s after all are dropped", n, state)
		}
	}
}

func TestOldestAndWrittenConfigMapsComeFirst(t *testing.T) {
	second := func(n int64) time.Time { return time.Unix(n, 0) }
	want := []rank{{second(1), 1, "z"}, {second(2), 0, "b"}, {second(2), 0, "c"}, {second(2), 1, "a"}, {second(3), 0, "a"}}
	got := []rank{want[4], want[3], want[2], want[1], want[0]}
	slices.SortFunc(got, rank.compare)
	if !slices.Equal(want, got) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}

func TestForeignConfigMapsAreReadPeriodically(t *testing.T) {
	m := &memory{records: map[types.NamespacedName]*record{}, changed: func(string, int) {}}
	key, now := types.NamespacedName{Name: "a"}, time.Unix(1_000_000, 0)
	for i, step := range []struct {
		why           string
		version, hash string
		after         time.Duration
		read          bool
		requeueAfter  time.Duration
		then          func(version string, now time.Time)
	}{
		{"nothing is known of it", "10", "h", 0, true, 0, func(v string, now time.Time) { m.verified(key, "u", v, "h", now) }},
		{"it was read in this version", "10", "h", 0, false, 0, nil},
		{"another client has written it", "11", "h", time.Second, false, readInterval - time.Second, nil},
		{"which is read later", "11", "h", readInterval, true, 0, func(v string, now time.Time) { m.verified(key, "u", v, "h", now) }},
		{"the loop has written it", "20", "h", time.Second, false, 0, nil},
		{"other certificates", "20", "i", 0, true, 0, func(v string, now time.Time) { m.refuse(key, "u", v, "i", "why", now, refusedRetry) }},
		{"it cannot be written", "20", "i", time.Minute, false, refusedRetry - time.Minute, nil},
		{"which is tried again", "20", "i", refusedRetry, true, 0, func(v string, now time.Time) { m.refuse(key, "u", v, "i", "why", now, 0) }},
		{"it can never be written", "20", "i", time.Hour, false, 0, nil},
	} {
		if step.why == "the loop has written it" {
			m.written(key, "u", step.version, "h", now)
		}
		now = now.Add(step.after)
		if read, requeueAfter := m.check(key, "u", step.version, step.hash, now); read != step.read || requeueAfter != step.requeueAfter {
			t.Errorf("%d, %s: %v, %v", i, step.why, read, requeueAfter)
		}
		if step.then != nil {
			step.then(step.version, now)
		}
	}
}
