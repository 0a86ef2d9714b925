package corpus

import (
	"path"
	"slices"
	"strings"
)

// A Format is a kind of dependency file, told by its path.
type Format struct {
	Name      string
	Ecosystem string // in the words of case.json
	Adapted   bool   // the engine merges it by meaning
}

// formats is read from the top; the first pattern that matches decides. A pattern is
// matched against the file's name, or against its end when it has a slash.
var formats = []struct {
	pattern string
	format  Format
}{
	{"package.json", Format{"package.json", "npm", true}},
	{"package-lock.json", Format{"package-lock.json", "npm", true}},
	{"npm-shrinkwrap.json", Format{"package-lock.json", "npm", true}},
	{"yarn.lock", Format{"yarn.lock", "yarn", true}},
	{"pnpm-lock.yaml", Format{"pnpm-lock.yaml", "pnpm", true}},
	{"pnpm-workspace.yaml", Format{"pnpm-workspace.yaml", "pnpm", true}},
	{"go.mod", Format{"go.mod", "go", true}},
	{"go.sum", Format{"go.sum", "go", true}},
	{"vendor/modules.txt", Format{"vendor/modules.txt", "go", true}},
	{"Cargo.toml", Format{"Cargo.toml", "cargo", true}},
	{"Cargo.lock", Format{"Cargo.lock", "cargo", true}},
	{".github/workflows/*.yml", Format{"workflow", "actions", true}},
	{".github/workflows/*.yaml", Format{"workflow", "actions", true}},
	{"action.yml", Format{"action", "actions", true}},
	{"action.yaml", Format{"action", "actions", true}},
	{"Dockerfile", Format{"Dockerfile", "docker", true}},
	{"Dockerfile.*", Format{"Dockerfile", "docker", true}},
	{"*.Dockerfile", Format{"Dockerfile", "docker", true}},

	{"poetry.lock", Format{"poetry.lock", "poetry", false}},
	{"uv.lock", Format{"uv.lock", "uv", false}},
	{"pyproject.toml", Format{"pyproject.toml", "pyproject", false}},
	{"*requirements*.txt", Format{"requirements", "pip", false}},
	{"*requirements*.in", Format{"requirements", "pip", false}},
	{"Gemfile", Format{"Gemfile", "bundler", false}},
	{"Gemfile.lock", Format{"Gemfile.lock", "bundler", false}},
	{"composer.json", Format{"composer.json", "composer", false}},
	{"composer.lock", Format{"composer.lock", "composer", false}},
	{"pom.xml", Format{"pom.xml", "maven", false}},
	{"libs.versions.toml", Format{"libs.versions.toml", "gradle", false}},
	{"*.csproj", Format{"csproj", "nuget", false}},
	{"Directory.Packages.props", Format{"Directory.Packages.props", "nuget", false}},
	{".terraform.lock.hcl", Format{".terraform.lock.hcl", "terraform", false}},
}

// lockfiles are the formats that a tool writes from a manifest.
var lockfiles = []string{
	"package-lock.json", "yarn.lock", "pnpm-lock.yaml", "go.sum", "vendor/modules.txt", "Cargo.lock",
	"poetry.lock", "uv.lock", "Gemfile.lock", "composer.lock", ".terraform.lock.hcl",
}

// Manifest tells whether a person writes such a file: it says what is wanted, not
// what was found.
func (f Format) Manifest() bool { return f.Ecosystem != "" && !slices.Contains(lockfiles, f.Name) }

// FormatOf tells a file's format. One that nobody knows has the file's own name and
// no ecosystem.
func FormatOf(file string) Format {
	for _, known := range formats {
		// A pattern of several elements is matched with as many of the path's.
		elements := strings.Split(file, "/")
		n := strings.Count(known.pattern, "/") + 1
		if n > len(elements) {
			continue
		}
		end := strings.Join(elements[len(elements)-n:], "/")
		if ok, err := path.Match(known.pattern, end); ok && err == nil {
			return known.format
		}
	}
	return Format{Name: path.Base(file)}
}

// Formats lists the names of the formats that a pull request changes, sorted.
func (p PullRequest) Formats() []string {
	var names []string
	for _, file := range p.Files {
		names = append(names, FormatOf(file).Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Adapted tells whether every file of the pull request is of an adapted format.
func (p PullRequest) Adapted() bool {
	return !slices.ContainsFunc(p.Files, func(file string) bool { return !FormatOf(file).Adapted })
}

// IsAdapted tells of a format, by its name, whether the engine merges it by meaning.
func IsAdapted(name string) bool {
	return slices.ContainsFunc(formats, func(known struct {
		pattern string
		format  Format
	}) bool {
		return known.format.Name == name && known.format.Adapted
	})
}
