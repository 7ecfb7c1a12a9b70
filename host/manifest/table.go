package manifest

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// row is one line of a CSV file with a header.
type row struct {
	found  *problems
	line   int
	column map[string]int // index by name, from the header
	cells  []string
}

// decodeTable reads a header and then a row a line. A quoted cell may not hold
// a line feed, so every line stands for itself and a bad one hides no other.
func decodeTable(text *lines, found *problems, d decoder) error {
	var parse lineParser
	var column map[string]int
	for !found.full() {
		line, err := text.next()
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		cells, err := parse.cells(line)
		if err != nil {
			found.add(text.number, "", err.Error(), "cells set apart by commas, on one line")
			if column == nil {
				return nil
			}
			continue
		}
		if column == nil {
			if column = header(found, text.number, cells, d); column == nil {
				return nil
			}
			continue
		}
		if len(cells) != len(column) {
			found.add(text.number, "", fmt.Sprintf("%d columns", len(cells)), fmt.Sprintf("%d, as in the header", len(column)))
			continue
		}
		d.row(&row{found: found, line: text.number, column: column, cells: cells})
	}
	return nil
}

// lineParser parses CSV line by line with one buffer.
type lineParser struct {
	line   bytes.Reader
	buffer *bufio.Reader
}

func (p *lineParser) cells(line []byte) ([]string, error) {
	p.line.Reset(line)
	if p.buffer == nil {
		p.buffer = bufio.NewReader(nil)
	}
	p.buffer.Reset(&p.line)
	cells, err := csv.NewReader(p.buffer).Read()
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return nil, parse.Err
	}
	return cells, err
}

func header(found *problems, line int, cells []string, d decoder) map[string]int {
	before := found.count
	required, optional := d.columns()
	column := make(map[string]int, len(cells))
	for i, name := range cells {
		switch {
		case !slices.Contains(required, name) && !slices.Contains(optional, name):
			found.add(line, "header", quote(name), "one of "+strings.Join(slices.Concat(required, optional), ", "))
		case hasKey(column, name):
			found.add(line, "header", quote(name)+" given twice", "every column once")
		}
		column[name] = i
	}
	for _, name := range required {
		if !hasKey(column, name) {
			found.add(line, "header", "no column "+name, strings.Join(required, ", "))
		}
	}
	if found.count > before {
		return nil
	}
	return column
}

func hasKey(column map[string]int, name string) bool {
	_, ok := column[name]
	return ok
}

func (r *row) has(name string) bool { return hasKey(r.column, name) }

// cell gives a column's text, "" where the file has no such column.
func (r *row) cell(name string) string {
	if i, ok := r.column[name]; ok {
		return r.cells[i]
	}
	return ""
}

// number reads a whole number from 0 to limit.
func (r *row) number(name, unit string, limit int64) int64 {
	text := r.cell(name)
	if !wholeNumber(text) || text[0] == '-' {
		r.found.add(r.line, name, quote(text), "a whole number of "+unit+", 0 or more")
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > limit {
		r.found.add(r.line, name, quote(text)+" is too large", fmt.Sprintf("at most %d %s", limit, unit))
		return 0
	}
	return n
}

// wholeNumber accepts decimal digits without a plus or leading zeros, which
// YAML and its readers do not agree about.
func wholeNumber(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}
	return digits != "" && (digits[0] != '0' || text == "0")
}
