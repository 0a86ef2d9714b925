package consolidate_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// The set of reason codes is closed and documented: what the code knows and
// what the page explains are the same.
func TestReasonCodesAreDocumented(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "result.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Reason" {
			code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, code)
		}
		return true
	})
	page, err := os.ReadFile("../../docs/reason-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	var explained []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllSubmatch(page, -1) {
		explained = append(explained, string(m[1]))
	}
	slices.Sort(codes)
	slices.Sort(explained)
	if len(codes) < 10 || !slices.Equal(codes, explained) {
		t.Errorf("in the code:\n%q\nexplained:\n%q", codes, explained)
	}
}
