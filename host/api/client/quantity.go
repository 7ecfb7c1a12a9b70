package client

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/poise-sched/poise/host/resource"
)

// Quantity is an amount as host/resource reads and prints it. In JSON it is a
// text, and a number is taken as the text of that number, so that no float comes
// between what was written and the grammar.
type Quantity string

// UnmarshalJSON takes a text or a number.
func (q *Quantity) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] != '"' {
		var n json.Number
		if err := json.Unmarshal(text, &n); err != nil || bytes.Equal(text, []byte("null")) {
			return fmt.Errorf("%s: expected an amount such as \"500m\" or 4", text)
		}
		*q = Quantity(n)
		return nil
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	*q = Quantity(s)
	return nil
}

// Amounts prints a list of amounts by dimension.
func Amounts(list resource.List) map[string]Quantity {
	amounts := make(map[string]Quantity, len(list))
	for _, a := range list {
		amounts[a.Name] = Quantity(resource.Format(a.Name, a.Value))
	}
	return amounts
}
