package git

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"
)

// unquote reads a C-style quoted string by git's description of them: escapes of
// one letter, or of three octal digits.
func unquote(s string) (string, error) {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return "", errors.New("no quotes around it")
	}
	s = s[1 : len(s)-1]
	letters := map[byte]byte{'a': 7, 'b': 8, 't': 9, 'n': 10, 'v': 11, 'f': 12, 'r': 13, '"': '"', '\\': '\\'}
	var out []byte
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"' || s[i] == '\n':
			return "", errors.New("ends early")
		case s[i] != '\\':
			out = append(out, s[i])
		case i+1 < len(s) && letters[s[i+1]] != 0:
			out = append(out, letters[s[i+1]])
			i++
		case i+3 < len(s):
			n, err := strconv.ParseUint(s[i+1:i+4], 8, 8)
			if err != nil {
				return "", err
			}
			out = append(out, byte(n))
			i += 3
		default:
			return "", errors.New("escape cut off")
		}
	}
	return string(out), nil
}

func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a", "a b", `"`, `\`, "\n", "\x00", "\x7f", "\xff", `\001`, "ü", "a\"\nM 100644 :1 x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q := quote(s)
		for i := range len(q) {
			if q[i] < ' ' || q[i] >= 0x7f {
				t.Fatalf("%q is quoted as %q, with a byte that may end a line or a string", s, q)
			}
		}
		if got, err := unquote(q); err != nil || got != s {
			t.Fatalf("%q is quoted as %q, which reads as %q (%v)", s, q, got, err)
		}
	})
}

// FuzzSignature: whatever a commit says about its author, what we write for it
// is one line of git's form, and stays the same when read and written again.
func FuzzSignature(f *testing.F) {
	for _, s := range []string{"", "A <a@b> 1 +0000", "A", "<", ">", "> <", "A <a> <b>> 1 -0130", "\u00a0A\u0085 <\u00a0> 1 +0000", "A <a@b> -1 +9999", "A\x00 <\x00> 99999999999999999999 x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line := parseSignature(s).line()
		if strings.ContainsAny(line, "\n\x00") || strings.Count(line, "<") != 1 || strings.Count(line, ">") != 1 {
			t.Fatalf("%q is written as %q", s, line)
		}
		_, date, ok := strings.Cut(line, "> ")
		unix, zone, _ := strings.Cut(date, " ")
		n, err := strconv.ParseInt(unix, 10, 64)
		if !ok || err != nil || n < 0 || len(zone) != 5 {
			t.Fatalf("%q is written as %q", s, line)
		}
		if again := parseSignature(line).line(); again != line {
			t.Fatalf("%q is written as %q, and then as %q", s, line, again)
		}
	})
}

func FuzzParseCommit(f *testing.F) {
	const id = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	f.Add([]byte("tree " + id + "\nparent " + id + "\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\nencoding x\ngpgsig x\n y\n\nmessage"))
	f.Add([]byte("tree " + id))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := parseCommit(id, raw)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		if !c.Tree.Valid() {
			t.Fatalf("tree %q", c.Tree)
		}
		for _, p := range c.Parents {
			if !p.Valid() {
				t.Fatalf("parent %q", p)
			}
		}
		if !bytes.HasSuffix(raw, []byte(c.Message)) {
			t.Fatalf("message %q is not the end of it", c.Message)
		}
	})
}

// FuzzParse: output that is cut off or made up is an error, never a panic.
func FuzzParse(f *testing.F) {
	f.Add(":100644 100644 a b M\x00path\x00:000000 100644 a b A\x00x\x00")
	f.Add("100644 blob a\tpath\x00")
	f.Add(":\x00")
	f.Fuzz(func(t *testing.T, out string) {
		if changes, err := parseDiff(out); err == nil && len(changes) == 0 && out != "" {
			t.Fatalf("%q is read as nothing", out)
		}
		if entries, err := parseTree(out); err == nil && len(entries) == 0 && strings.Trim(out, "\x00") != "" {
			t.Fatalf("%q is read as nothing", out)
		}
	})
}

func TestVersions(t *testing.T) {
	for answer, want := range map[string]error{
		"git version 2.38.0":                   nil,
		"git version 2.39.5 (Apple Git-154)\n": nil,
		"git version 2.45.1.windows.1":         nil,
		"git version 3.0.0":                    nil,
		"git version 2.50":                     nil,
		"git version 2.37.7":                   ErrGitTooOld,
		"git version 1.99.0":                   ErrGitTooOld,
		"git version next":                     ErrGitTooOld,
		"":                                     ErrGitTooOld,
	} {
		if err := checkVersion(answer); !errors.Is(err, want) {
			t.Errorf("%q: %v", answer, err)
		}
	}
}
