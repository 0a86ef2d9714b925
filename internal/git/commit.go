package git

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// parseCommit reads a commit object. Headers that are not known (signatures,
// merged tags) are skipped; lines of persons that make no sense are read as far
// as they do, since anybody can write anything there.
func parseCommit(id ID, raw []byte) (Commit, error) {
	c := Commit{ID: id}
	head, message, ok := bytes.Cut(raw, []byte("\n\n"))
	if !ok {
		head = bytes.TrimSuffix(raw, []byte("\n")) // without a message
	}
	c.Message = string(message)
	for line := range strings.SplitSeq(string(head), "\n") {
		key, value, _ := strings.Cut(line, " ") // a continuation has no key
		switch key {
		case "tree":
			if c.Tree == "" {
				c.Tree = ID(value)
			}
		case "parent":
			parent := ID(value)
			if !parent.Valid() {
				return Commit{}, fmt.Errorf("%w: commit %s names a parent %q", ErrCorrupt, id, value)
			}
			c.Parents = append(c.Parents, parent)
		case "author":
			c.Author = parseSignature(value)
		case "committer":
			c.Committer = parseSignature(value)
		case "encoding":
			c.Encoding = value
		}
	}
	if !c.Tree.Valid() {
		return Commit{}, fmt.Errorf("%w: commit %s names a tree %q", ErrCorrupt, id, string(c.Tree))
	}
	return c, nil
}

// parseSignature reads "Name <email> 1700000000 +0100". Like git, it takes the
// address from the first "<" to the next ">", and the date after the last ">".
func parseSignature(line string) Signature {
	name, rest, ok := strings.Cut(line, "<")
	if !ok {
		return Signature{Name: strings.Trim(line, " ")}
	}
	email, _, _ := strings.Cut(rest, ">")
	s := Signature{Name: strings.Trim(name, " "), Email: email}
	when := strings.Fields(rest[strings.LastIndex(rest, ">")+1:])
	if len(when) > 0 {
		if unix, err := strconv.ParseInt(when[0], 10, 64); err == nil {
			s.When.Unix = unix
		}
	}
	if len(when) > 1 {
		s.When.Zone = when[1]
	}
	return s
}
