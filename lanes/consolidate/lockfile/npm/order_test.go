package npm

import (
	"slices"
	"testing"
)

// The order is what `keys.sort((a, b) => a.localeCompare(b, "en"))` gives.
func TestKeysAreInNpmsOrder(t *testing.T) {
	less := NewLess()
	keys := []string{
		"node_modules/_x", "node_modules/@babel/core", "node_modules/@babel/core-x",
		"node_modules/@types/node", "node_modules/1x", "node_modules/a", "node_modules/A",
		"node_modules/a-b", "node_modules/a.b", "node_modules/a/node_modules/b", "node_modules/a1",
		"node_modules/ab", "node_modules/aB", "node_modules/json-schema", "node_modules/JSONStream",
	}
	for i := range keys[1:] {
		if !less(keys[i], keys[i+1]) || less(keys[i+1], keys[i]) {
			t.Errorf("%s must stand before %s", keys[i], keys[i+1])
		}
	}
	got := slices.Clone(keys)
	slices.Reverse(got)
	slices.SortFunc(got, func(a, b string) int {
		if less(a, b) {
			return -1
		}
		return 1
	})
	if !slices.Equal(got, keys) {
		t.Errorf("got %q", got)
	}
}
