package registry

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/poise-sched/poise/host/poise"
)

// Ref names a version of a plugin: by version, by tag, or by digest. With none of
// the three it is the latest that was pushed.
type Ref struct {
	Plugin               string
	Version, Tag, Digest string // at most one is set
}

const (
	digestPrefix = "sha256:"
	digestDigits = 64
	// shortest is how many digits of a digest name it.
	shortest = 6
)

// ParseRef reads NAME, NAME@VERSION, NAME:TAG, NAME@sha256:DIGITS or
// sha256:DIGITS. Of the digits the beginning is enough, six at the least.
func ParseRef(text string) (Ref, error) {
	refuse := func(detail string) (Ref, error) {
		return Ref{}, &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("plugin: %.120q, %s, expected NAME, NAME@VERSION, NAME:TAG or NAME@sha256:DIGITS", text, detail)}
	}
	var r Ref
	rest := text
	if name, version, ok := strings.Cut(text, "@"); ok {
		r.Plugin, rest = name, ""
		if digits, ok := strings.CutPrefix(version, digestPrefix); ok {
			rest = digestPrefix + digits
		} else if r.Version = version; !validVersion(version) {
			return refuse("the version is none")
		}
	}
	switch digits, isDigest := strings.CutPrefix(rest, digestPrefix); {
	case isDigest:
		if len(digits) < shortest || len(digits) > digestDigits || !hexDigits(digits) {
			return refuse(fmt.Sprintf("the digest has not %d to %d digits", shortest, digestDigits))
		}
		r.Digest = rest
	case rest != "":
		var tagged bool
		r.Plugin, r.Tag, tagged = strings.Cut(rest, ":")
		if tagged && !validVersion(r.Tag) {
			return refuse("the tag is none")
		}
	}
	if r.Plugin == "" && r.Digest != "" && !strings.Contains(text, "@") {
		return r, nil
	}
	if !validName(r.Plugin) {
		return refuse("the name is none")
	}
	return r, nil
}

func hexDigits(text string) bool {
	if len(text)%2 != 0 {
		text += "0"
	}
	_, err := hex.DecodeString(text)
	return err == nil && text == strings.ToLower(text)
}

// String gives the text that ParseRef reads.
func (r Ref) String() string {
	switch {
	case r.Version != "":
		return r.Plugin + "@" + r.Version
	case r.Tag != "":
		return r.Plugin + ":" + r.Tag
	case r.Digest != "" && r.Plugin == "":
		return r.Digest
	case r.Digest != "":
		return r.Plugin + "@" + r.Digest
	}
	return r.Plugin
}

// Matches says whether a digest is the one that r names, where r names one.
func (r Ref) Matches(digest string) bool { return strings.HasPrefix(digest, r.Digest) }

const (
	mostName    = 63
	mostVersion = 64
)

// ValidateName refuses a plugin whose name or version could not be told from
// another's or from the rest of a Ref. A tag is like a version.
func ValidateName(name, version string) error {
	if !validName(name) {
		return &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("name: %.120q, expected 1 to %d of a-z, 0-9 and -, with no - at either end", name, mostName)}
	}
	if !validVersion(version) {
		return &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("version: %.120q, expected 1 to %d of letters, digits and . + _ -, the first a letter or digit", version, mostVersion)}
	}
	return nil
}

// ValidateTag refuses a tag that a Ref could not have.
func ValidateTag(tag string) error {
	if !validVersion(tag) {
		return &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("tag: %.120q, expected 1 to %d of letters, digits and . + _ -, the first a letter or digit", tag, mostVersion)}
	}
	return nil
}

func validName(s string) bool {
	ok := len(s) > 0 && len(s) <= mostName && s[0] != '-' && s[len(s)-1] != '-'
	for i := range len(s) {
		c := s[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-')
	}
	return ok
}

func validVersion(s string) bool {
	ok := len(s) > 0 && len(s) <= mostVersion
	for i := range len(s) {
		c := s[i]
		word := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		ok = ok && (word || i > 0 && strings.IndexByte(".+_-", c) >= 0)
	}
	return ok
}
