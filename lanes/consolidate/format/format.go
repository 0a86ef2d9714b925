// Package format lists every kind of dependency file that Bailiff merges by meaning.
package format

import (
	"slices"

	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/actions"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/cargo"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/docker"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/golang"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npm"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/npmlock"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/pnpm"
	"github.com/bailiff-bot/bailiff/lanes/consolidate/lockfile/yarn"
)

// All returns the formats. Each call returns formats with memories of their own.
func All() []*lockfile.Format {
	return slices.Concat(
		npm.Formats(),
		npmlock.Formats(),
		cargo.Formats(),
		actions.Formats(),
		docker.Formats(),
		yarn.Formats(),
		golang.Formats(),
		pnpm.Formats(),
	)
}

// Of returns the format of a file, or nil when none reads it.
func Of(all []*lockfile.Format, path string, content []byte) *lockfile.Format {
	for _, f := range all {
		if f.Match(path, content) {
			return f
		}
	}
	return nil
}
