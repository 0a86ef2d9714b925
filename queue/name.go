package queue

import (
	"fmt"
	"strconv"
	"strings"
)

// maxName bounds a name in bytes; git's and GitHub's own limits are below it
// (a ref has at most 255 bytes on most file systems).
const maxName = 512

// plain are the bytes that stand for themselves in Redis. All others are
// written as %XX, so that any byte may occur in a name and none can end one
// early: the sorted sets join names with "|" and lists of them with a space.
func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._-/@:+#=,~", c) >= 0
}

func escape(s string) string {
	i := 0
	for i < len(s) && plain(s[i]) {
		i++
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if plain(s[i]) {
			b.WriteByte(s[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
	}
	return b.String()
}

// unescape undoes escape; what was not escaped by it stays as it is.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// name checks and escapes a name from outside.
func name(op, what, s string, required bool) (string, error) {
	if required && s == "" {
		return "", &Error{Kind: Invalid, Op: op, Text: what + " is missing"}
	}
	if len(s) > maxName {
		return "", &Error{Kind: TooLarge, Op: op, Text: fmt.Sprintf("%s has %d bytes, more than %d", what, len(s), maxName)}
	}
	return escape(s), nil
}

// digits of Crockford's base 32 in lower case, as in a ULID.
const digits = "0123456789abcdefghjkmnpqrstvwxyz"

// maxShards is what the last two digits of an ID can name.
const maxShards = len(digits) * len(digits)

// random makes the end of an ID: after its time and the number within its
// millisecond, which the script adds, 11 random digits (55 bits) and two for the
// shard, so that an ID alone says where its task lies.
func (q *Queue) random(shard int) (string, error) {
	b, err := q.entropy(11)
	if err != nil {
		return "", err
	}
	for i := range b {
		b[i] = digits[b[i]%32]
	}
	return string(b) + string(digits[shard/32]) + string(digits[shard%32]), nil
}

// shardOf reads the shard from an ID.
func (q *Queue) shardOf(op string, id ID) (int, error) {
	s := string(id)
	ok := len(s) == 28 && strings.HasPrefix(s, "t_")
	for i := 2; ok && i < len(s); i++ {
		ok = strings.IndexByte(digits, s[i]) >= 0
	}
	if !ok {
		return 0, &Error{Kind: Invalid, Op: op, Task: id, Text: `not a task ID (t_ and 26 characters)`}
	}
	n := strings.IndexByte(digits, s[26])*32 + strings.IndexByte(digits, s[27])
	if n >= q.opt.Shards {
		return 0, &Error{Kind: NotFound, Op: op, Task: id, Text: "there is no such task"}
	}
	return n, nil
}
