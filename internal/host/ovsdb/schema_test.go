package ovsdb

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestValuesAreDecodedStrictly(t *testing.T) {
	text := ColumnType{Key: BaseType{Type: "string"}, Min: 1, Max: 1}
	number := ColumnType{Key: BaseType{Type: "integer"}, Max: 1}
	for _, tt := range []struct {
		reason string
		t      ColumnType
		value  string
		want   string
	}{
		{"another type", text, `7`, "7 is not of type string"},
		{"null", text, `null`, "null is not"},
		{"no value where one is required", text, `["set",[]]`, "0 values"},
		{"two values where one is allowed", number, `["set",[1,2]]`, "2 values in a column of type optional integer"},
		{"the same value twice", number, `["set",[1,1]]`, "1 occurs twice"},
		{"a fraction", number, `1.5`, "not of type integer"},
		{"more than 64 bits", number, `9223372036854775808`, "not of type integer"},
		{"a map", text, `["map",[]]`, "not of type string"},
	} {
		if got, err := tt.t.decode(json.RawMessage(tt.value)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, %v", tt.reason, got, err)
		}
	}
	for value, want := range map[string]int{`1500`: 1, `["set",[]]`: 0} {
		if got, err := number.decode(json.RawMessage(value)); err != nil || len(got) != want {
			t.Errorf("%s: %v, %v", value, got, err)
		}
	}
}
