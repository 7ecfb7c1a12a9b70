package workload

import (
	"strconv"
	"strings"
)

// Header is what the comments at the head of a file say, as far as it matters. 0
// is unknown.
type Header struct {
	MaxNodes, MaxProcs int64
	UnixStartTime      int64 // seconds; only written and kept
}

func (h *Header) field(name string) *int64 {
	switch name {
	case "MaxNodes":
		return &h.MaxNodes
	case "MaxProcs":
		return &h.MaxProcs
	case "UnixStartTime":
		return &h.UnixStartTime
	}
	return nil
}

// Comment takes in a line that begins with a semicolon, such as "; MaxProcs:
// 128". A number may have text behind it. Any other comment is passed over.
func (h *Header) Comment(line string) *Fault {
	name, value, ok := strings.Cut(strings.TrimLeft(line, "; \t"), ":")
	into := h.field(strings.TrimSpace(name))
	if !ok || into == nil {
		return nil
	}
	first, _, _ := strings.Cut(strings.TrimSpace(value), " ")
	v, err := strconv.ParseInt(first, 10, 64)
	switch {
	case first == "" || v == -1 && err == nil: // unknown
	case err != nil || v < 0 || v > maxValue:
		return &Fault{Field: strings.TrimSpace(name), Value: first, Want: "a whole number from 0 to " + strconv.FormatInt(maxValue, 10)}
	default:
		*into = v
	}
	return nil
}

// Append writes the header's comments.
func (h *Header) Append(b []byte) []byte {
	b = append(b, "; Version: 2.2\n"...)
	for _, name := range []string{"UnixStartTime", "MaxNodes", "MaxProcs"} {
		if v := *h.field(name); v > 0 {
			b = append(append(append(b, "; "...), name...), ": "...)
			b = append(strconv.AppendInt(b, v, 10), '\n')
		}
	}
	return b
}

// Width is how many processors a node has, 0 where the header does not say.
func (h *Header) Width() int64 {
	if h.MaxNodes <= 0 {
		return 0
	}
	return h.MaxProcs / h.MaxNodes
}
