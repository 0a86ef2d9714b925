package tree

import "bytes"

// EOL is how a file's text is stored, apart from its meaning.
type EOL struct{ bom, crlf bool }

var bom = []byte("\xef\xbb\xbf")

// Normalise strips what formats need not know: a byte order mark, and CRLF
// where the whole file has it.
func Normalise(raw []byte) ([]byte, EOL) {
	var e EOL
	if bytes.HasPrefix(raw, bom) {
		raw, e.bom = raw[len(bom):], true
	}
	if n := bytes.Count(raw, []byte("\r\n")); n > 0 && n == bytes.Count(raw, []byte{'\n'}) {
		raw, e.crlf = bytes.ReplaceAll(raw, []byte("\r\n"), []byte{'\n'}), true
	}
	return raw, e
}

// Restore writes a text as it was stored.
func (e EOL) Restore(text []byte) []byte {
	if e.crlf {
		text = bytes.ReplaceAll(text, []byte{'\n'}, []byte("\r\n"))
	}
	if e.bom {
		text = append(bytes.Clone(bom), text...)
	}
	return text
}
