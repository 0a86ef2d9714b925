package git

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// oddRefs reads references that git sees but does not list: those whose names
// hold control characters. They come from tools that write the files by
// themselves, most often as a carriage return at the end of a name.
func (c *Clone) oddRefs() (map[string]ID, error) {
	odd := map[string]ID{}
	packed, err := readSmall(filepath.Join(c.common, "packed-refs"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(packed)) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		c.addOdd(odd, name, id)
	}
	root, err := filepath.EvalSymlinks(filepath.Join(c.common, "refs"))
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return ignoreGone(err)
		}
		name := "refs" + filepath.ToSlash(strings.TrimPrefix(path, root))
		if !onlyOddlyNamed(name) {
			return nil
		}
		text, err := readSmall(path)
		c.addOdd(odd, name, strings.TrimSpace(string(text)))
		return err
	})
	return odd, err
}

func (c *Clone) addOdd(odd map[string]ID, name, id string) {
	if len(id) == c.format.hexLen && ID(id).Valid() && onlyOddlyNamed(name) {
		odd[name] = ID(id)
	}
}

// onlyOddlyNamed says whether control characters are all that is wrong with a
// name, so that lock files and other debris do not count.
func onlyOddlyNamed(name string) bool {
	plain := make([]byte, 0, len(name)) // by bytes: names need not be UTF-8
	for i := range len(name) {
		if c := name[i]; c >= ' ' && c != 0x7f {
			plain = append(plain, c)
		}
	}
	return len(plain) != len(name) && CheckRef(string(plain)) == nil
}

// ignoreGone forgives a file that went away while the folder was read.
func ignoreGone(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// below says whether a name is in one of the folders; no folders means all.
func below(name string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(name, strings.TrimSuffix(p, "/")+"/") {
			return true
		}
	}
	return len(prefixes) == 0
}
