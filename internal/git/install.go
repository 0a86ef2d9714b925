package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Install brings the objects that were made in the scratch into the clone, by
// copying files: objects first that others need, and an index after its pack,
// so that a reader or a crash never sees half of one. tip is the commit that
// they were made for; it must be there. No reference is touched, so git's own
// garbage collection removes them again if none ever comes.
func (s *Scratch) Install(ctx context.Context, tip ID) error {
	if _, err := s.Commit(ctx, tip); err != nil {
		return err
	}
	loose, packs, err := s.made()
	if err != nil {
		return err
	}
	from, to := filepath.Join(s.dir, "objects"), s.clone.objects()
	for _, name := range loose {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := install(from, to, name); err != nil {
			return fmt.Errorf("objects cannot be stored in the clone: %w", err)
		}
	}
	for _, name := range packs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if exists(filepath.Join(to, name+".idx")) {
			continue // a pack is named by what is in it
		}
		for _, ext := range []string{".pack", ".idx"} {
			if err := install(from, to, name+ext); err != nil {
				return fmt.Errorf("objects cannot be stored in the clone: %w", err)
			}
		}
	}
	return nil
}

// made lists the scratch's own object files below its objects folder, packs
// without their extension.
func (s *Scratch) made() (loose, packs []string, err error) {
	root := os.DirFS(filepath.Join(s.dir, "objects"))
	loose, err = fs.Glob(root, "[0-9a-f][0-9a-f]/*")
	if err != nil {
		return nil, nil, err
	}
	indexes, err := fs.Glob(root, "pack/pack-*.idx")
	for _, name := range indexes {
		packs = append(packs, strings.TrimSuffix(name, ".idx"))
	}
	return loose, packs, err
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
	target := filepath.Join(to, name)
	dir := filepath.Dir(target)
	parent, err := os.Stat(to)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, parent.Mode().Perm()); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	tmp, err := os.CreateTemp(dir, "tmp_obj_*")
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
	if err := os.Rename(tmp.Name(), target); err != nil {
		return err
	}
	return syncDir(dir)
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
