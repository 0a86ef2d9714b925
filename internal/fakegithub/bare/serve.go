package bare

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bailiff-bot/bailiff/internal/git"
)

// Serve answers a request of git's smart HTTP protocol, whose path below the
// repository is suffix (such as /info/refs), through git http-backend. Who may do it
// is the caller's business.
func (r *Repo) Serve(w http.ResponseWriter, req *http.Request, suffix string) {
	root, name := filepath.Split(r.Dir)
	env := append([]string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=git", "HOME=" + r.Dir}, shield...)
	inner := req.Clone(req.Context())
	inner.URL.Path = "/" + name + suffix
	inner.URL.RawPath = ""
	// CGI programs see headers as variables; git needs none of these.
	for _, h := range []string{"Authorization", "Cookie"} {
		inner.Header.Del(h)
	}
	(&cgi.Handler{Path: r.program, Args: []string{"http-backend"}, Dir: r.Dir, Env: env, Stderr: io.Discard}).ServeHTTP(w, inner)
}

// Spool puts a request's body, unpacked, into a file and makes the request read it
// from there with its length known: CGI takes no chunked body, and git sends one for
// everything over 1 MiB. The file is removed by the function that comes back.
func Spool(req *http.Request, limit int64) (*os.File, func(), error) {
	body := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, nil, err
		}
		body = z
		req.Header.Del("Content-Encoding")
	}
	file, err := os.CreateTemp("", "fakegithub-body-")
	if err != nil {
		return nil, nil, err
	}
	done := func() {
		file.Close()
		os.Remove(file.Name())
	}
	n, err := io.Copy(file, io.LimitReader(body, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("the body exceeds %d bytes", limit)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	req.Body = io.NopCloser(file)
	req.ContentLength = n
	req.TransferEncoding = nil
	return file, done, nil
}

// Command is one reference that a push wants to move. Zero IDs mean that it is made
// or goes.
type Command struct {
	Ref      string
	Old, New git.ID
}

// ErrPush says that what was sent is no push.
var ErrPush = errors.New("not a push that git understands")

// Commands reads what a push asks for, its capabilities, and how long that part of the
// body is; a pack may follow.
func Commands(body io.Reader) (commands []Command, capabilities string, size int64, err error) {
	in := bufio.NewReader(body)
	for {
		var head [4]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return nil, "", 0, fmt.Errorf("%w: %w", ErrPush, err)
		}
		n, err := strconv.ParseUint(string(head[:]), 16, 16)
		if err != nil || n > 0 && n < 4 {
			return nil, "", 0, fmt.Errorf("%w: length %q", ErrPush, head)
		}
		if n == 0 {
			return commands, capabilities, size + 4, nil
		}
		line := make([]byte, n-4)
		if _, err := io.ReadFull(in, line); err != nil {
			return nil, "", 0, fmt.Errorf("%w: %w", ErrPush, err)
		}
		size += int64(n)
		text, more, _ := strings.Cut(string(line), "\x00")
		if more != "" {
			capabilities = more
		}
		fields := strings.SplitN(strings.TrimSuffix(text, "\n"), " ", 3)
		if fields[0] == "shallow" {
			continue
		}
		if len(fields) != 3 || !git.ID(fields[0]).Valid() || !git.ID(fields[1]).Valid() {
			return nil, "", 0, fmt.Errorf("%w: %q", ErrPush, text)
		}
		commands = append(commands, Command{Ref: fields[2], Old: git.ID(fields[0]), New: git.ID(fields[1])})
	}
}

// ErrNoPack says that there was none to unpack.
var ErrNoPack = errors.New("no pack")

// Unpack stores the objects of a push without moving a reference, so that they can be
// looked at first. ErrNoPack if there are none: a push may send only names.
func (r *Repo) Unpack(ctx context.Context, pack io.Reader) error {
	in := bufio.NewReader(pack)
	if _, err := in.Peek(1); err != nil {
		return ErrNoPack
	}
	pack = in
	_, err := r.git(ctx, pack, "index-pack", "--stdin", "--fix-thin")
	return err
}

// Refuse answers a push: nothing of it was done. said is shown to whoever pushes, each
// line after "remote:"; why stands behind each reference.
func Refuse(w http.ResponseWriter, commands []Command, capabilities string, said string, why map[string]string) {
	var report strings.Builder
	line := func(b *strings.Builder, s string) { fmt.Fprintf(b, "%04x%s", len(s)+4, s) }
	line(&report, "unpack ok\n")
	for _, c := range commands {
		reason := why[c.Ref]
		if reason == "" {
			reason = "pre-receive hook declined"
		}
		line(&report, "ng "+c.Ref+" "+reason+"\n")
	}
	report.WriteString("0000")
	var out strings.Builder
	if strings.Contains(capabilities, "side-band-64k") {
		if said != "" {
			line(&out, "\x02"+strings.TrimSuffix(said, "\n")+"\n")
		}
		line(&out, "\x01"+report.String())
		out.WriteString("0000")
	} else {
		out.WriteString(report.String())
	}
	w.Header().Set("Content-Type", "application/x-git-receive-pack-result")
	w.Header().Set("Cache-Control", "no-cache")
	io.WriteString(w, out.String()) //nolint:errcheck // a client that left hears nothing
}
