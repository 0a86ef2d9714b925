// Package script holds the queue's Lua: one script a state move, each in its
// own file with a legend of its keys and arguments.
//
// The legend is not decoration. "-- KEYS  meta task <seen>" becomes the locals
// META, TASK and SEEN, and the list of keys that the caller passes; "-- ARGV
// id token then ..." becomes the locals id and token. So a script cannot touch
// a key that its legend does not name: there is no other way to a key's name.
package script

import (
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed *.lua
var files embed.FS

// A Script is one state move.
type Script struct {
	Name string
	// Keys are the legend's words: a plain word is a fixed key of the shard, a
	// word in angle brackets is one that the call names, with "..." any number.
	Keys []string
	Args []string
	Text string // as sent to Redis

	run *redis.Script
}

// Run calls the script by its digest, and sends it when the server lacks it.
func (s *Script) Run(ctx context.Context, c redis.Scripter, keys []string, args ...any) ([]any, error) {
	return s.run.Run(ctx, c, keys, args...).Slice()
}

// Set is every script, by name.
type Set map[string]*Script

// Load reads the scripts. With audit, each call to Redis in them fails unless
// its key was declared; the tests run so.
func Load(audit bool) (Set, error) {
	lib, err := files.ReadFile("lib.lua")
	if err != nil {
		return nil, err
	}
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	set := Set{}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".lua")
		if name == "lib" {
			continue
		}
		text, err := files.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		s, err := parse(name, string(text), string(lib), audit)
		if err != nil {
			return nil, fmt.Errorf("script %s: %w", name, err)
		}
		set[name] = s
	}
	return set, nil
}

const plainCall = "local call = redis.call\n"

const auditCall = `
local declared = {}
for _, k in ipairs(KEYS) do declared[k] = true end
local call = function(cmd, key, ...)
  if cmd == 'TIME' then return redis.call(cmd) end
  if not declared[key] then error('undeclared key ' .. tostring(key) .. ' for ' .. cmd) end
  return redis.call(cmd, key, ...)
end
`

// parse reads the legend and puts prologue, library and body together.
func parse(name, text, lib string, audit bool) (*Script, error) {
	s := &Script{Name: name}
	withLib := true
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		if !ok {
			break
		}
		switch word, rest, _ := strings.Cut(comment, " "); word {
		case "KEYS":
			s.Keys = strings.Fields(rest)
		case "ARGV":
			s.Args = argNames(rest)
		case "NOLIB":
			withLib = false
		}
	}
	if len(s.Keys) == 0 {
		return nil, fmt.Errorf("no KEYS in its legend")
	}
	var b strings.Builder
	for i, k := range s.Keys {
		if k = strings.Trim(k, "<>"); !strings.HasSuffix(k, "...") {
			fmt.Fprintf(&b, "local %s = KEYS[%d]\n", strings.ToUpper(k), i+1)
		}
	}
	if withLib {
		b.WriteString(lib)
	}
	for i, a := range s.Args {
		fmt.Fprintf(&b, "local %s = ARGV[%d]\n", a, i+1)
	}
	b.WriteString(text)
	s.Text = b.String()
	if audit {
		s.Text = strings.Replace(s.Text, plainCall, auditCall, 1)
	}
	s.run = redis.NewScript(s.Text)
	return s, nil
}

// argNames takes the words up to "then", without their units in parentheses.
func argNames(s string) []string {
	fixed, _, _ := strings.Cut(" "+s+" ", " then ")
	var b strings.Builder
	depth := 0
	for _, r := range fixed {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return strings.Fields(b.String())
}
