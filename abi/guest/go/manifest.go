package poise

import "strconv"

// Manifest gives the JSON object that the host reads.
func (p *Plugin) Manifest() []byte {
	b := []byte(`{"name":`)
	b = text(b, p.name)
	b = append(b, `,"version":`...)
	b = text(b, p.version)
	if p.description != "" {
		b = append(b, `,"description":`...)
		b = text(b, p.description)
	}
	b = append(b, `,"columns":`...)
	b = texts(b, p.columns)
	b = list(b, "labels", p.labels)
	b = list(b, "domains", p.domains)
	b = list(b, "job_fields", p.fields)
	if len(p.params) > 0 {
		b = append(b, `,"params":[`...)
		for i := range p.params {
			if i > 0 {
				b = append(b, ',')
			}
			b = p.params[i].json(b)
		}
		b = append(b, ']')
	}
	for i, reason := range p.reasons {
		before := `,"`
		if i == 0 {
			before = `,"reasons":{"`
		}
		b = append(b, before...)
		b = strconv.AppendInt(b, int64(i+1), 10)
		b = append(b, `":`...)
		b = text(b, reason)
	}
	if len(p.reasons) > 0 {
		b = append(b, '}')
	}
	b = flag(b, "row_pure", p.rowPure)
	b = flag(b, "chooses_devices", p.choosesDevices)
	b = flag(b, "wants_profile", p.wantsProfile)
	if p.lossRange != nil {
		b = append(b, `,"loss_range":[`...)
		b = number(b, p.lossRange[0])
		b = append(b, ',')
		b = number(b, p.lossRange[1])
		b = append(b, ']')
	}
	if p.seeded {
		b = append(b, `,"tie":"seeded"`...)
	}
	return append(b, '}')
}

// json appends the parameter as an object.
func (p *param) json(b []byte) []byte {
	b = append(b, `{"name":`...)
	b = text(b, p.name)
	b = append(b, `,"type":`...)
	b = text(b, p.kind)
	for _, kv := range [...]struct{ key, value string }{{"default", p.fallback}, {"min", p.min}, {"max", p.max}} {
		if kv.value != "" {
			b = append(b, ',', '"')
			b = append(b, kv.key...)
			b = append(b, '"', ':')
			b = append(b, kv.value...)
		}
	}
	b = list(b, "values", p.values)
	return append(b, '}')
}

func flag(b []byte, key string, on bool) []byte {
	if !on {
		return b
	}
	b = append(b, ',', '"')
	b = append(b, key...)
	return append(b, `":true`...)
}

func list(b []byte, key string, values []string) []byte {
	if len(values) == 0 {
		return b
	}
	b = append(b, ',', '"')
	b = append(b, key...)
	b = append(b, '"', ':')
	return texts(b, values)
}

func texts(b []byte, values []string) []byte {
	b = append(b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = text(b, v)
	}
	return append(b, ']')
}

// text appends s as a JSON string; its bytes are UTF-8 already.
func text(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

func number(b []byte, v float64) []byte { return strconv.AppendFloat(b, v, 'g', -1, 64) }
