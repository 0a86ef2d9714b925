package cargo

import (
	"path"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
)

// manifest is what a Cargo.toml says, as far as a lockfile has to agree.
type manifest struct {
	path          string
	name, version string // of its package; empty when it has none, or Cargo would have to say
	needs         []need
	workspace     bool
	members       []string // patterns of folders
	exclude       []string
	shared        map[string]need // [workspace.dependencies]
	sharedVersion string          // [workspace.package]
	inherits      bool            // its version is the workspace's
	patched       bool            // [patch] or [replace]: sources are not what they seem
}

// need is a dependency of a manifest.
type need struct {
	key, name string // as the manifest calls it, and the crate
	req       string
	path      string
	git       bool
	shared    bool // as the workspace has it
	optional  bool
	dev       bool
}

// object is a TOML table.
type object = map[string]any

// readManifest reads a Cargo.toml; nil when it is not there or cannot be read.
func readManifest(file string, tree lockfile.Tree) *manifest {
	if tree.Doc(file) == nil {
		return nil
	}
	text, ok := tree.Read(file)
	if !ok {
		return nil
	}
	var t object
	if err := toml.Unmarshal(text, &t); err != nil {
		return nil
	}
	m := &manifest{path: file}
	pkg := sub(t, "package")
	if pkg == nil {
		pkg = sub(t, "project") // as it was called once
	}
	m.name, m.version = str(pkg, "name"), str(pkg, "version")
	if v, ok := pkg["version"]; !ok {
		m.version = "0.0.0"
	} else if inherited, ok := v.(object); ok {
		m.inherits = inherited["workspace"] == true
	}
	_, patch := t["patch"]
	_, replace := t["replace"]
	m.patched = patch || replace
	if ws, ok := t["workspace"].(object); ok {
		m.workspace = true
		m.members, m.exclude = list(ws, "members"), list(ws, "exclude")
		m.shared = map[string]need{}
		for _, n := range needs(ws, "dependencies") {
			m.shared[n.key] = n
		}
		m.sharedVersion = str(sub(ws, "package"), "version")
	}
	sections := []object{t}
	for _, target := range sub(t, "target") {
		if s, ok := target.(object); ok {
			sections = append(sections, s)
		}
	}
	for _, s := range sections {
		for _, name := range dependencyTables {
			for _, n := range needs(s, name) {
				n.dev = strings.HasPrefix(name, "dev")
				m.needs = append(m.needs, n)
			}
		}
	}
	slices.SortFunc(m.needs, func(a, b need) int { return strings.Compare(a.key+a.req, b.key+b.req) })
	return m
}

func needs(t object, name string) []need {
	var out []need
	for key, v := range sub(t, name) {
		n := need{key: key, name: key}
		switch v := v.(type) {
		case string:
			n.req = v
		case object:
			n.req, n.path, n.git = str(v, "version"), str(v, "path"), str(v, "git") != ""
			n.shared, n.optional = v["workspace"] == true, v["optional"] == true
			if p := str(v, "package"); p != "" {
				n.name = p
			}
		}
		out = append(out, n)
	}
	return out
}

func sub(t object, name string) object {
	s, _ := t[name].(object)
	return s
}

func str(t object, name string) string {
	s, _ := t[name].(string)
	return s
}

func list(t object, name string) []string {
	var out []string
	items, _ := t[name].([]any)
	for _, v := range items {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// project is the packages that one lockfile is for.
type project struct {
	root    *manifest
	members map[string]*manifest // by path
	// around are packages outside of the workspace that a path leads to.
	around map[string]*manifest
}

// readProject finds the manifests of the lockfile in a folder: its workspace's
// members, and what their paths lead to. Nil: its own manifest is not there, or
// the lockfile is not in force, being a member's.
func readProject(dir string, t lockfile.Tree) *project {
	root := readManifest(path.Join(dir, manifestFile), t)
	if root == nil {
		return nil
	}
	if ws := workspaceOf(root, t); ws != nil && ws.path != root.path && ws.has(path.Dir(ws.path), dir) {
		return nil
	}
	p := &project{root: root, members: map[string]*manifest{root.path: root}, around: map[string]*manifest{}}
	queue := []*manifest{root}
	add := func(to map[string]*manifest, file string) {
		if p.members[file] != nil || p.around[file] != nil {
			return
		}
		if m := readManifest(file, t); m != nil {
			to[file] = m
			queue = append(queue, m)
		}
	}
	for _, file := range t.Paths() {
		if path.Base(file) == manifestFile && file != root.path && root.has(dir, path.Dir(file)) {
			add(p.members, file)
		}
	}
	for len(queue) > 0 {
		m := queue[0]
		queue = queue[1:]
		for _, n := range m.needs {
			base := path.Dir(m.path)
			if n.shared {
				n, base = root.shared[n.key], dir
			}
			if n.path == "" {
				continue
			}
			at := path.Join(base, n.path)
			to := p.around
			if p.members[m.path] != nil && root.workspace && within(at, dir) && !root.excludes(dir, at) {
				to = p.members // a path inside of the workspace makes a member
			}
			add(to, path.Join(at, manifestFile))
		}
	}
	return p
}

// has reports whether a folder is a member by the workspace's patterns.
func (m *manifest) has(dir, folder string) bool {
	return m.workspace && matches(m.members, dir, folder) && !m.excludes(dir, folder)
}

// excludes reports whether the workspace leaves a folder out, unless a pattern
// names just it.
func (m *manifest) excludes(dir, folder string) bool {
	for _, x := range m.exclude {
		if within(folder, path.Join(dir, x)) {
			return !slices.ContainsFunc(m.members, func(s string) bool { return path.Join(dir, s) == folder })
		}
	}
	return false
}

func within(folder, above string) bool {
	return above == "." && !strings.HasPrefix(folder, "..") || folder == above || strings.HasPrefix(folder, above+"/")
}

// matches reports whether patterns, which may have **, fit a folder.
func matches(patterns []string, dir, folder string) bool {
	for _, p := range patterns {
		if glob(strings.Split(path.Join(dir, p), "/"), strings.Split(folder, "/")) {
			return true
		}
	}
	return false
}

// glob walks along the pattern and keeps, for each number of parts, whether the
// pattern so far fits just them.
func glob(pattern, parts []string) bool {
	fits := make([]bool, len(parts)+1)
	fits[0] = true
	for _, p := range pattern {
		next := make([]bool, len(parts)+1)
		for n := range fits {
			switch {
			case p == "**":
				next[n] = fits[n] || n > 0 && next[n-1]
			case n > 0 && fits[n-1]:
				ok, err := path.Match(p, parts[n-1])
				next[n] = ok && err == nil
			}
		}
		fits = next
	}
	return fits[len(parts)]
}
