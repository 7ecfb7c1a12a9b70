package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/registry/minisign"
	"github.com/poise-sched/poise/host/registry/oci"
)

// signatureSuffix is added to a module's path to name its signature, as the
// minisign tool does.
const signatureSuffix = ".minisig"

func signaturePath(file, given string) string {
	if given != "" {
		return given
	}
	return file + signatureSuffix
}

func publicKeyFlag(cmd *cobra.Command, keys *[]string) {
	cmd.Flags().StringArrayVar(keys, "public-key", nil, "file with a public key, or the 56 characters of one; repeatable, one of them has to fit")
}

// publicKeys reads keys: each a file, or where there is no such file, the key
// itself.
func publicKeys(given []string) ([]minisign.PublicKey, error) {
	var keys []minisign.PublicKey
	for _, name := range given {
		text := []byte(name)
		_, err := os.Stat(name)
		key, bare := minisign.ParsePublicKey(text)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || bare != nil {
			if text, err = readSmall("public key", name); err != nil {
				return nil, err
			}
			if key, err = minisign.ParsePublicKey(text); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// readSmall reads a key or a signature: never more than the reader of either
// accepts.
func readSmall(what, path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &poise.Error{Kind: poise.NotFound, Op: "read " + what, Detail: path + ": no such file"}
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, minisign.MaxSignature+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return text, nil
}

// chosen is the signature that goes beside a file, if any, and what is known of
// all of them.
type chosen struct {
	text    []byte
	verdict string
}

// chooseSignature finds the signature that one of the keys made. Without keys
// nothing is checked, and a single signature is taken as it is.
func chooseSignature(p oci.Plugin, keys []minisign.PublicKey) (chosen, error) {
	if len(keys) == 0 {
		switch len(p.Signatures) {
		case 0:
			return chosen{verdict: "no"}, nil
		case 1:
			s, err := minisign.ParseSignature(p.Signatures[0])
			return chosen{p.Signatures[0], fmt.Sprintf("by key %s as it says, not checked: no --public-key", s.KeyID)}, err
		}
		return chosen{verdict: fmt.Sprintf("%d signatures, not checked: no --public-key", len(p.Signatures))}, nil
	}
	var wrong []error
	for _, text := range p.Signatures {
		s, err := minisign.Verify(p.Module, text, keys...)
		if err == nil {
			return chosen{text, fmt.Sprintf("by key %s, %q", s.KeyID, s.Comment)}, nil
		}
		wrong = append(wrong, err)
	}
	if len(wrong) == 0 {
		wrong = []error{&poise.Error{Kind: poise.Denied, Detail: "signature: none, expected one by a --public-key"}}
	}
	return chosen{}, &poise.Error{Kind: poise.Denied, Err: errors.Join(wrong...)}
}
