package manifest

import (
	"bytes"
	"path/filepath"
	"strings"
)

type format uint8

const (
	yamlFormat format = iota
	jsonFormat
	csvFormat
	swfFormat
)

// formatOf goes by the name's extension, with .gz left out of account, and
// where that says nothing by the first line with something on it.
func formatOf(name string, head []byte) format {
	name = strings.ToLower(strings.TrimSuffix(strings.ToLower(name), ".gz"))
	switch filepath.Ext(name) {
	case ".yaml", ".yml":
		return yamlFormat
	case ".jsonl", ".ndjson", ".json":
		return jsonFormat
	case ".csv":
		return csvFormat
	case ".swf":
		return swfFormat
	}
	for line := range bytes.Lines(head) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] == '#':
			continue
		case line[0] == '{':
			return jsonFormat
		case line[0] == ';':
			return swfFormat
		case bytes.IndexByte(line, ',') > 0 && bytes.IndexByte(line, ':') < 0:
			return csvFormat
		}
		break
	}
	return yamlFormat
}
