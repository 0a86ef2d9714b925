// Package corpustest hands the corpus to tests.
package corpustest

import (
	"errors"
	"testing"

	"github.com/bailiff-bot/bailiff/internal/corpus"
)

// Cases are all cases of the corpus. Without one, the test is skipped.
func Cases(t testing.TB) []corpus.Case {
	t.Helper()
	dir, err := corpus.Find()
	if errors.Is(err, corpus.ErrAbsent) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	cases, err := corpus.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}
