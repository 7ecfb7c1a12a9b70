package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// decodeYAML hands each document of the text to document. The text is cut at
// the document markers first, so that a document with a fault hides no other
// and none is larger than the limit.
func decodeYAML(text *lines, found *problems, document func(*yaml.Node)) error {
	var doc []byte
	first := 1
	flush := func(next int) {
		yamlDocument(doc, first, found, document)
		doc, first = doc[:0], next
	}
	for !found.full() {
		line, err := text.next()
		if err != nil {
			flush(0)
			return err
		}
		if marks(line, "...") {
			flush(text.number + 1)
			continue
		}
		if marks(line, "---") {
			flush(text.number)
		}
		doc = append(append(doc, line...), '\n')
		if len(doc) > text.lim.record {
			found.add(first, "", fmt.Sprintf("document of more than %d bytes", text.lim.record), "smaller documents, set apart by ---")
			return nil
		}
	}
	return nil
}

func marks(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r')
}

// yamlDocument parses the document that starts at line first of the file.
func yamlDocument(doc []byte, first int, found *problems, document func(*yaml.Node)) {
	if len(bytes.TrimSpace(bytes.TrimPrefix(doc, []byte("---")))) == 0 {
		return
	}
	n, err := parseYAML(doc)
	switch {
	case err != nil:
		message := yamlPrefix.ReplaceAllString(err.Error(), "")
		found.add(first+faultLine(doc), "", message, "a YAML document")
	case n == nil || n.ShortTag() == "!!null" && n.Value == "":
		// Comments alone.
	case settle(n, first-1, found):
		document(n)
	}
}

// yamlPrefix is what the parser puts before a message; its line is often the
// one before the fault, or the start of what it was in.
var yamlPrefix = regexp.MustCompile(`^yaml: (line \d+: )?`)

func parseYAML(doc []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(doc))
	var n, rest yaml.Node
	if err := decoder.Decode(&n); err == io.EOF {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	switch err := decoder.Decode(&rest); err {
	case io.EOF:
		return n.Content[0], nil
	case nil:
		return nil, errors.New("second document without a line --- before it")
	default:
		return nil, err
	}
}

// faultWork bounds the bytes parsed to find the line of a fault.
const faultWork = 1 << 20

// faultLine gives how many lines of a document that does not parse come before
// the fault: the most that parse without the rest. It is 0, the document's
// start, where finding out would cost too much.
func faultLine(doc []byte) int {
	if bytes.Count(doc, []byte("\n"))*len(doc) > faultWork {
		return 0
	}
	for {
		end := bytes.LastIndexByte(bytes.TrimSuffix(doc, []byte("\n")), '\n')
		if end < 0 {
			return 0
		}
		doc = doc[:end+1]
		if _, err := parseYAML(doc); err == nil {
			return bytes.Count(doc, []byte("\n"))
		}
	}
}

// settle makes the lines of a tree those of the file and refuses what is not
// plain: anchors and aliases, which let a short text stand for a long one, and
// tags, which make a value something other than it looks.
func settle(n *yaml.Node, offset int, found *problems) bool {
	n.Line += offset
	switch {
	case n.Kind == yaml.AliasNode:
		found.add(n.Line, "", quote("*"+n.Value), "the value itself: aliases are not supported")
		return false
	case n.Anchor != "":
		found.add(n.Line, "", quote("&"+n.Anchor), "no anchor: aliases are not supported")
		return false
	case n.Style&yaml.TaggedStyle != 0:
		found.add(n.Line, "", quote(n.Tag), "no tag: the field tells the type")
		return false
	}
	plain := true
	for _, c := range n.Content {
		plain = settle(c, offset, found) && plain
	}
	return plain
}

// decodeJSON hands the object on each line to document, as the YAML tree that
// means the same.
func decodeJSON(text *lines, found *problems, document func(*yaml.Node)) error {
	for !found.full() {
		line, err := text.next()
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var raw json.RawMessage
		if err := json.Unmarshal(line, &raw); err != nil {
			found.add(text.number, "", err.Error(), "one JSON object on the line")
			continue
		}
		document(jsonTree(raw, text.number))
	}
	return nil
}
