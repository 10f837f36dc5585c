package nmstate

import "reflect"

// clone returns a deep copy of a document, except for the immutable line numbers.
func clone(d *Document) *Document {
	out := *d
	deepen(reflect.ValueOf(&out).Elem())
	return &out
}

// deepen replaces the pointers, slices and maps in v, which is a shallow copy, by deep copies.
func deepen(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			to := reflect.New(v.Type().Elem())
			to.Elem().Set(v.Elem())
			deepen(to.Elem())
			v.Set(to)
		}
	case reflect.Slice:
		if !v.IsNil() {
			to := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(to, v)
			for n := range to.Len() {
				deepen(to.Index(n))
			}
			v.Set(to)
		}
	case reflect.Map:
		if !v.IsNil() {
			to := reflect.MakeMapWithSize(v.Type(), v.Len())
			for key, e := range v.Seq2() {
				to.SetMapIndex(key, e)
			}
			v.Set(to)
		}
	case reflect.Struct:
		for n := range v.NumField() {
			if v.Type().Field(n).IsExported() {
				deepen(v.Field(n))
			}
		}
	}
}
