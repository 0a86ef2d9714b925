package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// batch is a "cat-file --batch-command" process that answers one question after
// the other. It is started when first asked, and anew after it failed.
type batch struct {
	start func() (*exec.Cmd, *tail)

	mu     sync.Mutex
	proc   *batchProcess
	closed bool
}

type batchProcess struct {
	cmd   *exec.Cmd
	words *tail
	in    io.WriteCloser
	out   *bufio.Reader
}

// object is the answer to a question.
type object struct {
	id   ID
	kind string // blob, tree, commit, tag
	size int64
	data []byte // nil if only asked about
}

func (s *Scratch) startBatch() (*exec.Cmd, *tail) {
	// The process outlives the context of the question that started it; a
	// question's own context ends it through the pipe (see ask).
	return s.clone.run.command(context.Background(), s.call(nil, "cat-file", "--batch-command"))
}

// info asks what an object is; contents reads it as well. The caller has
// checked the ID, so that it cannot be taken for two questions.
func (b *batch) info(ctx context.Context, id ID) (object, error) { return b.ask(ctx, "info", id) }

func (b *batch) contents(ctx context.Context, id ID) (object, error) {
	return b.ask(ctx, "contents", id)
}

// ask puts one question. A process that had served before may have been killed
// since, so another one is asked then.
func (b *batch) ask(ctx context.Context, verb string, id ID) (object, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	served := b.proc != nil
	o, err := b.try(ctx, verb, id)
	if err != nil && served && b.proc == nil && ctx.Err() == nil {
		o, err = b.try(ctx, verb, id)
	}
	return o, err
}

// try asks the process there is, or starts one. On any failure but a missing
// object the process is gone after.
func (b *batch) try(ctx context.Context, verb string, id ID) (object, error) {
	if b.closed {
		return object{}, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return object{}, err
	}
	if b.proc == nil {
		if err := b.begin(); err != nil {
			return object{}, err
		}
	}
	p := b.proc
	killed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(killed)
		_ = p.cmd.Process.Kill()
	})
	o, err := p.ask(verb, id)
	if !stop() { // in the middle of the answer or just after it
		<-killed
		_ = b.end()
		if err == nil {
			return o, nil
		}
		return object{}, ctx.Err()
	}
	if err == nil || errors.Is(err, ErrMissing) {
		return o, err
	}
	ended := explain(ctx, "cat-file", b.end(), p.words)
	if exited(ended, 128) { // git's own verdict
		return object{}, fmt.Errorf("%w: %s: %w", ErrCorrupt, id, ended)
	}
	return object{}, fmt.Errorf("object %s cannot be read: %w", id, errors.Join(err, ended))
}

func (b *batch) begin() error {
	cmd, words := b.start()
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("git cat-file: %w", err)
	}
	b.proc = &batchProcess{cmd: cmd, words: words, in: in, out: bufio.NewReaderSize(out, 64<<10)}
	return nil
}

// end kills the process, waits for it, and forgets it.
func (b *batch) end() error {
	p := b.proc
	if p == nil {
		return nil
	}
	b.proc = nil
	p.in.Close()
	_ = p.cmd.Process.Kill()
	return p.cmd.Wait()
}

func (b *batch) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	_ = b.end()
}

func (p *batchProcess) ask(verb string, id ID) (object, error) {
	if _, err := io.WriteString(p.in, verb+" "+string(id)+"\n"); err != nil {
		return object{}, err
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return object{}, err
	}
	fields := strings.Fields(line)
	if len(fields) == 2 && fields[1] == "missing" {
		return object{}, ErrMissing
	}
	if len(fields) != 3 || fields[0] != string(id) {
		return object{}, fmt.Errorf("unexpected answer %q", line)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return object{}, fmt.Errorf("unexpected answer %q", line)
	}
	o := object{id: id, kind: fields[1], size: size}
	if verb == "info" {
		return o, nil
	}
	o.data = make([]byte, size)
	if _, err := io.ReadFull(p.out, o.data); err != nil {
		return object{}, err
	}
	if c, err := p.out.ReadByte(); err != nil || c != '\n' {
		return object{}, errors.Join(errors.New("answer without an end"), err)
	}
	return o, nil
}
