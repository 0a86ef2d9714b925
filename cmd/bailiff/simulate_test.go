package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSimulate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "stage")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out, in := io.Pipe()
	var said bytes.Buffer
	done := make(chan int)
	go func() {
		code := run(&program{ctx: ctx, stdout: in, stderr: &said}, []string{"simulate", "--addr=127.0.0.1:0", dir})
		in.CloseWithError(io.EOF)
		done <- code
	}()
	told := map[string]string{}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "Ctrl-C") {
		name, value, _ := strings.Cut(lines.Text(), "  ")
		told[name] = strings.TrimSpace(value)
	}
	if len(told["their secret"]) < 32 {
		t.Fatalf("told: %q\n%s", told, &said)
	}
	page, _, _ := strings.Cut(told["repository"], " ")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || !strings.Contains(string(body), "dependabot/npm_and_yarn/semver-7.6.3") || !strings.Contains(string(body), "#13 ") {
		t.Errorf("the repository's page: %v\n%s", err, body)
	}
	if info, err := os.Stat(told["its key"]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}
	interrupt()
	if code := <-done; code != 0 {
		t.Errorf("exit %d\n%s", code, &said)
	}
	if code := run(&program{ctx: ctx, stdout: &said, stderr: &said}, []string{"simulate", "--addr=0.0.0.0:0"}); code != 1 || !strings.Contains(said.String(), "loopback only") {
		t.Errorf("another address: exit %d\n%s", code, &said)
	}
}
