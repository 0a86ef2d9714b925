package jsontext_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/jsontext"
)

// values are JSON texts, and texts that are nearly JSON.
var values = []string{
	`{}`, `[]`, `""`, `0`, `-1`, `1.5`, `1e9`, `1E-2`, `true`, `false`, `null`, ` { } `, "\t[\n]\r\n",
	`{"a":1}`, `{"a":{"b":[1,2,{"c":null}]}}`, `{"a" : "b" , "c":"\u00e9\n\"\\\/"}`, `[1,[2,[3]]]`,
	`{"a":1,"a":2}`, `{"":""}`, "{\"\u00e9\":\"\u2028\"}", "{\"\xff\":1}",
	``, ` `, `{`, `}`, `[`, `]`, `{]`, `[}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `[1,]`, `[,1]`, `{a:1}`, `{"a":1 "b":2}`,
	`01`, `-`, `1.`, `.5`, `1e`, `+1`, `tru`, `nul`, `True`, `"`, `"\x"`, `"\u12g4"`, `"\u12`, "\"\n\"", `"\`, `{}{}`, `{} x`, `1 2`,
	"\"\\u\x11\x11\x11\x11\"", `{"a":"b"]`, "<<<<<<< HEAD\n{}", "{\n<<<<<<< HEAD\n}",
}

func TestCheckAgreesWithTheStandardDecoder(t *testing.T) {
	for _, v := range values {
		if got, want := jsontext.Check([]byte(v)) == nil, json.Valid([]byte(v)); got != want {
			t.Errorf("Check(%q) accepts: %v, want %v", v, got, want)
		}
	}
}

func TestCheckNamesTheLine(t *testing.T) {
	err := jsontext.Check([]byte("{\n  \"a\": 1,\n<<<<<<< HEAD\n}\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "line 3: ") {
		t.Errorf("got %v, want an error of line 3", err)
	}
}

func TestDeepNestingIsRefusedNotRecursedInto(t *testing.T) {
	for _, open := range []string{"[", `{"a":`} {
		if err := jsontext.Check([]byte(strings.Repeat(open, 5_000_000))); err == nil {
			t.Errorf("%q five million times is accepted", open)
		}
	}
}

func TestParseKeepsEveryByte(t *testing.T) {
	for _, v := range values {
		roundTrip(t, []byte(v))
	}
}

func roundTrip(t *testing.T, v []byte) {
	if jsontext.Check(v) != nil {
		return
	}
	o, err := jsontext.Parse(v, 0)
	if err != nil {
		return // not an object
	}
	head := v[:bytes.IndexByte(v, '{')]
	got := append(bytes.Clone(head), '{')
	for i, m := range o.Members {
		if i > 0 {
			got = append(got, ',')
		}
		got = append(got, m.Raw...)
		if !json.Valid(m.Value()) {
			t.Errorf("%q: the value of %q is no JSON: %q", v, m.Key, m.Value())
		}
	}
	got = append(append(got, o.Close...), v[o.End:]...)
	if !bytes.Equal(got, v) {
		t.Errorf("%q came back as %q", v, got)
	}
}

func TestUnique(t *testing.T) {
	o, err := jsontext.Parse([]byte(`{"a":1,"b":2,"\u0061":3}`), 0)
	if err != nil {
		t.Fatal(err)
	}
	var dup *jsontext.DuplicateError
	if err := o.Unique(); !errors.As(err, &dup) || dup.Key != "a" || dup.Offset != 13 {
		t.Errorf("got %v, want the second a at 13", err)
	}
}

func TestWithKeyAndValue(t *testing.T) {
	o, err := jsontext.Parse([]byte("{\n  \"a\" : 1\n}"), 0)
	if err != nil {
		t.Fatal(err)
	}
	m := o.Members[0].WithKey(`b"<`).WithValue([]byte("[2]"))
	if got := string(m.Raw); got != "\n  \"b\\\"<\" : [2]" || m.Key != `b"<` || string(m.Value()) != "[2]" {
		t.Errorf("got %q", got)
	}
}

func TestMerge3(t *testing.T) {
	higher := func(_ []string, _, ours, theirs []byte) ([]byte, bool) {
		if ours == nil || theirs == nil {
			return nil, false
		}
		if bytes.Compare(ours, theirs) > 0 {
			return ours, true
		}
		return theirs, true
	}
	for _, c := range []struct{ name, before, ours, theirs, want string }{
		{"only theirs", `{"a":1,"b":2}`, `{"a":1,"b":2}`, `{"a":1,"b":3}`, `{"a":1,"b":3}`},
		{"only ours", `{"a":1,"b":2}`, `{"a":2,"b":2}`, `{"a":1,"b":2}`, `{"a":2,"b":2}`},
		{"neighbours", `{"a":1,"b":2}`, `{"a":2,"b":2}`, `{"a":1,"b":3}`, `{"a":2,"b":3}`},
		{"both the same", `{"a":1}`, `{"a":2}`, `{"a":2}`, `{"a":2}`},
		{"both otherwise", `{"a":1}`, `{"a":2}`, `{"a":3}`, `{"a":3}`},
		{"both add", `{"a":1}`, `{"a":1,"b":2}`, `{"a":1,"c":3}`, `{"a":1,"b":2,"c":3}`},
		{"both add one key", `{}`, `{"a":1}`, `{"a":2}`, `{"a":2}`},
		{"theirs removes", `{"a":1,"b":2}`, `{"a":1,"b":2}`, `{"a":1}`, `{"a":1}`},
		{"ours removes", `{"a":1,"b":2}`, `{"a":1}`, `{"a":1,"b":2}`, `{"a":1}`},
		{"removed and changed", `{"a":1,"b":2}`, `{"a":1}`, `{"a":1,"b":3}`, ``},
		{"deep", `{"a":{"b":{"c":1,"d":1}}}`, `{"a":{"b":{"c":2,"d":1}}}`, `{"a":{"b":{"c":1,"d":2}}}`, `{"a":{"b":{"c":2,"d":2}}}`},
		{"the text of ours stays", `{"a":1}`, `{ "a" : 1 }`, `{"a":2}`, `{ "a" : 2 }`},
		{"the empty key", `{"":1}`, `{"":1}`, `{"a":1,"":1,"b":2}`, `{"a":1,"":1,"b":2}`},
		{"nothing left", `{"a":1}`, `{"a":1}`, `{}`, `{}`},
		{"from nothing", `{}`, `{}`, "{\n  \"a\": 1\n}", "{\n  \"a\": 1\n}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, conflicts := jsontext.Merge3([]byte(c.before), []byte(c.ours), []byte(c.theirs), higher)
			if c.want == "" {
				if len(conflicts) == 0 {
					t.Errorf("no conflict, but %s", got)
				}
				return
			}
			if len(conflicts) > 0 || string(got) != c.want {
				t.Errorf("got %s, conflicts %v", got, conflicts)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, v := range values {
		f.Add([]byte(v))
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		if got, want := jsontext.Check(v) == nil, json.Valid(v); got != want {
			t.Errorf("Check accepts: %v, want %v", got, want)
		}
		roundTrip(t, v)
	})
}

func FuzzMerge3(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":{"c":2}}`), []byte(`{"a":1}`), []byte(`{"b":{"c":3},"d":null}`))
	f.Fuzz(func(t *testing.T, before, ours, theirs []byte) {
		for _, v := range [][]byte{before, ours, theirs} {
			if jsontext.Check(v) != nil {
				return
			}
		}
		none := func([]string, []byte, []byte, []byte) ([]byte, bool) { return nil, false }
		got, _ := jsontext.Merge3(before, ours, theirs, none)
		if got != nil && !json.Valid(got) {
			t.Errorf("made %q", got)
		}
		if unique(before) && unique(ours) && unique(theirs) && !unique(got) {
			t.Errorf("a key stands twice in %q", got)
		}
	})
}

func unique(v []byte) bool {
	o, err := jsontext.Parse(v, 0)
	return err != nil || o.Unique() == nil
}

func BenchmarkCheck(b *testing.B) {
	text, err := os.ReadFile(os.Getenv("BAILIFF_BENCH_JSON"))
	if err != nil {
		b.Skip("BAILIFF_BENCH_JSON names no file")
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := jsontext.Check(text); err != nil {
			b.Fatal(err)
		}
	}
}
