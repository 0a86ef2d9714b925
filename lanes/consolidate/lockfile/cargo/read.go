package cargo

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// lockText is a Cargo.lock taken apart.
type lockText struct {
	head, tail string
	crates     []*crate
	texts      []block // of the crates
	end        string  // of the last crate's line
	meta       string
	sums       map[string]string // by full reference
	full       bool
}

func splitLock(text string) (*lockText, error) {
	f := &lockText{sums: map[string]string{}}
	line := 1
	for i, block := range splitBlocks(text) {
		at := line
		line += strings.Count(block, "\n")
		var err error
		switch {
		case strings.HasPrefix(block, opening):
			err = f.addCrate(block, at)
		case strings.HasPrefix(block, metadata) && f.meta == "":
			f.full = true
			f.meta = block
			err = parseSums(block, at, f.sums)
		case i == 0:
			f.head = block
			err = checkHead(block)
		default:
			f.tail += block
			err = unmarked(block)
		}
		if err != nil {
			return nil, err
		}
	}
	if n := len(f.texts); n > 0 {
		gap := f.texts[n-1].gap
		f.end = gap[:min(1, len(gap))]
		f.tail = gap[len(f.end):] + f.tail
		f.texts[n-1].gap = ""
	}
	seen := map[string]bool{}
	for _, c := range f.crates {
		if seen[c.full()] {
			return nil, &lockfile.DuplicateError{Key: c.full(), Line: c.line}
		}
		seen[c.full()] = true
	}
	if !strings.Contains(f.head, "\nversion = ") && !strings.HasPrefix(f.head, "version = ") {
		f.full = f.full || writtenInFull(f.crates)
	}
	return f, nil
}

// writtenInFull tells the first version of the format, without checksums, by a
// reference that names a source although one crate has the name.
func writtenInFull(crates []*crate) bool {
	count := map[string]int{}
	for _, c := range crates {
		count[c.name]++
	}
	for _, c := range crates {
		for _, ref := range c.refs {
			if name, rest, ok := strings.Cut(ref, " "); ok && rest != "" && count[name] == 1 {
				return true
			}
		}
	}
	return false
}

// splitBlocks cuts the file before every table.
func splitBlocks(text string) []string {
	var out []string
	start := 0
	for i := 0; i < len(text); {
		end := strings.IndexByte(text[i:], '\n')
		if end < 0 {
			break
		}
		i += end + 1
		if i < len(text) && text[i] == '[' {
			out = append(out, text[start:i])
			start = i
		}
	}
	return append(out, text[start:])
}

func marked(line string) bool {
	return strings.HasPrefix(line, "<<<<<<<") || strings.HasPrefix(line, "=======") || strings.HasPrefix(line, ">>>>>>>")
}

func unmarked(block string) error {
	for l := range strings.Lines(block) {
		if marked(l) {
			return lockfile.ErrConflictMarkers
		}
	}
	return nil
}

func checkHead(text string) error {
	for i, l := range strings.Split(text, "\n") {
		switch {
		case marked(l):
			return lockfile.ErrConflictMarkers
		case l != "" && l[0] != '#' && !strings.Contains(l, "="):
			return notALine(i+1, l)
		}
	}
	return nil
}

func notALine(n int, text string) error {
	return fmt.Errorf("line %d: not a line of a Cargo.lock: %s", n, strconv.Quote(text))
}

func (f *lockText) addCrate(text string, at int) error {
	body := strings.TrimRight(text, "\n")
	c, err := parseCrate(strings.Split(body, "\n"), at)
	if err != nil {
		return err
	}
	f.crates = append(f.crates, c)
	f.texts = append(f.texts, block{text: body, gap: text[len(body):]})
	return nil
}

func parseCrate(lines []string, at int) (*crate, error) {
	c := &crate{line: at}
	fields := map[string]*string{"name": &c.name, "version": &c.version, "source": &c.source, "checksum": &c.checksum}
	for i := 1; i < len(lines); i++ {
		l := lines[i]
		if l == "" || l[0] == '#' {
			continue
		}
		key, val, ok := strings.Cut(l, " = ")
		if !ok {
			if marked(l) {
				return nil, lockfile.ErrConflictMarkers
			}
			return nil, notALine(at+i, l)
		}
		if key == "dependencies" {
			list, n, err := parseList(lines[i:])
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", at+i, err)
			}
			c.refs = append(c.refs, list...)
			i += n - 1
			continue
		}
		s, err := strconv.Unquote(val)
		field := fields[key]
		switch {
		case field == nil:
			c.extra = append(c.extra, l)
		case err != nil || s == "":
			return nil, notALine(at+i, l)
		case *field != "":
			return nil, &lockfile.DuplicateError{Key: key, Line: at + i}
		default:
			*field = s
		}
	}
	if c.name == "" || c.version == "" {
		return nil, fmt.Errorf("line %d: a package without name or version", at)
	}
	return c, nil
}

// parseList reads a TOML array of strings over one or more lines.
func parseList(lines []string) (list []string, used int, err error) {
	for i, l := range lines {
		if i == 0 {
			_, l, _ = strings.Cut(l, " = ")
			l = strings.TrimPrefix(l, "[")
		}
		l = strings.TrimSpace(l)
		done := strings.HasSuffix(l, "]")
		for _, item := range strings.Split(strings.TrimSuffix(l, "]"), ",") {
			if item = strings.TrimSpace(item); item == "" {
				continue
			}
			s, err := strconv.Unquote(item)
			if err != nil {
				if marked(l) {
					return nil, 0, lockfile.ErrConflictMarkers
				}
				return nil, 0, fmt.Errorf("not a dependency: %s", strconv.Quote(item))
			}
			list = append(list, s)
		}
		if done {
			return list, i + 1, nil
		}
	}
	return nil, 0, errors.New("a list without an end")
}

func parseSums(block string, at int, sums map[string]string) error {
	for i, l := range strings.Split(strings.TrimRight(block, "\n"), "\n")[1:] {
		k, v, ok := strings.Cut(l, " = ")
		key, err1 := strconv.Unquote(k)
		val, err2 := strconv.Unquote(v)
		name, isSum := strings.CutPrefix(key, "checksum ")
		switch {
		case marked(l):
			return lockfile.ErrConflictMarkers
		case !ok || err1 != nil || err2 != nil || !isSum:
			return fmt.Errorf("line %d: not a checksum: %s", at+i+1, strconv.Quote(l))
		case sums[name] != "":
			return &lockfile.DuplicateError{Key: key, Line: at + i + 1}
		}
		sums[name] = val
	}
	return nil
}
