package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// view makes a scratch into which the references of the clone are linked, so
// that git reads and writes them without the clone's configuration. Settings on
// the command line would not do: since git 2.54 the configuration can name hooks
// (hook.NAME.command), which core.hooksPath does not switch off.
func (c *Clone) view(ctx context.Context) (*Scratch, error) {
	v, err := c.Scratch(ctx)
	if err != nil {
		return nil, err
	}
	v.alias = c.common
	err = errors.Join(os.Remove(filepath.Join(v.dir, "refs")), c.adopt(v))
	for _, name := range []string{"refs", "packed-refs", "logs", "reftable"} {
		if err == nil {
			err = os.Symlink(filepath.Join(c.common, name), filepath.Join(v.dir, name))
		}
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// adopt gives the view what of the clone's ways concerns references: a journal
// if the clone keeps one, a group that may write if it may already, and how they
// are stored.
func (c *Clone) adopt(v *Scratch) error {
	refs, err := os.Stat(filepath.Join(c.common, "refs"))
	if err != nil {
		return err
	}
	more := "[core]\n"
	if exists(filepath.Join(c.common, "logs")) {
		more += "\tlogAllRefUpdates = true\n"
	}
	if perm := refs.Mode().Perm(); perm&0o020 != 0 {
		more += fmt.Sprintf("\tsharedRepository = 0%o\n", perm&0o666)
	}
	if exists(filepath.Join(c.common, "reftable")) {
		more += "\trepositoryFormatVersion = 1\n[extensions]\n\trefStorage = reftable\n"
	}
	config, err := os.OpenFile(filepath.Join(v.dir, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = config.WriteString(more)
	return errors.Join(err, config.Close())
}
