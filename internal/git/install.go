package git

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Install brings what was imported into the scratch into the clone, by copying
// pack files, an index after its pack, so that neither a reader nor a crash sees
// half of one. tip is the commit that it was all made for; it must be there. No
// reference is touched, so git's own garbage collection removes the objects again
// if none ever leads to them.
func (s *Scratch) Install(ctx context.Context, tip ID) error {
	if _, err := s.Commit(ctx, tip); err != nil {
		return err
	}
	from, to := filepath.Join(s.dir, "objects/pack"), filepath.Join(s.clone.objects(), "pack")
	indexes, err := fs.Glob(os.DirFS(from), "pack-*.idx")
	if err != nil {
		return err
	}
	for _, index := range indexes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if exists(filepath.Join(to, index)) {
			continue // a pack is named by what is in it
		}
		for _, name := range []string{strings.TrimSuffix(index, ".idx") + ".pack", index} {
			if err := install(from, to, name); err != nil {
				return fmt.Errorf("objects cannot be stored in the clone: %w", err)
			}
		}
	}
	return nil
}

// install copies one file under a temporary name (one that git clears away if
// it is left behind) and renames it once its bytes are on the disk. A file that
// is there already is replaced by an equal one.
func install(from, to, name string) (err error) {
	src, err := os.Open(filepath.Join(from, name))
	if err != nil {
		return err
	}
	defer src.Close()
	parent, err := os.Stat(to)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(to, "tmp_pack_*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
		}
	}()
	if _, err := io.Copy(tmp, src); err != nil {
		return err
	}
	// Whoever may read the folder may read the file; nobody writes it.
	if err := tmp.Chmod(parent.Mode().Perm() & 0o444); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), filepath.Join(to, name)); err != nil {
		return err
	}
	return syncDir(to)
}

// syncDir puts a rename on the disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
