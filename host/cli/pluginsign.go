package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/registry/minisign"
)

// pluginSignOptions are the flags of plugin sign.
type pluginSignOptions struct {
	file      string
	key       string
	signature string
	password  func() (string, error)
}

func newPluginSign(s Streams) *cobra.Command {
	o := pluginSignOptions{password: func() (string, error) { return askPassword(s, os.Stdin) }}
	cmd := &cobra.Command{
		Use:   "sign FILE --key KEY [flags]",
		Short: "Sign a plugin with a key of the minisign tool",
		Long: "Sign a plugin and write the signature beside it. Keys and signatures are those of minisign:\n" +
			"minisign -G makes a pair of keys, minisign -V checks what this signs. The module has to be one\n" +
			"that would be accepted; its name, version and digest become the trusted comment. The password\n" +
			"of a key is asked for on the terminal, or is the first line of the standard input.",
		Example: "  poise plugin sign bestfit.wasm --key ~/.minisign/minisign.key",
		Args:    oneFile(&o.file),
		RunE:    func(*cobra.Command, []string) error { return signPlugin(s, &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.key, "key", "", "file with the secret key")
	f.StringVar(&o.signature, "signature", "", "file to write (default: FILE"+signatureSuffix+")")
	return cmd
}

// signPlugin does what plugin sign says.
func signPlugin(s Streams, o *pluginSignOptions) error {
	if o.key == "" {
		return usagef("--key: not given, expected the file of a secret key, as minisign -G writes it")
	}
	w, err := openWorkshop(nil)
	if err != nil {
		return err
	}
	defer w.close()
	bin, err := readModule(o.file, int64(w.limits.Module.Bytes))
	if err != nil {
		return err
	}
	m, err := w.loadBytes(o.file, bin)
	if refusalOf(err) != nil {
		return refused(o.file, err)
	}
	if err != nil {
		return err
	}
	text, err := readSmall("secret key", o.key)
	if err != nil {
		return err
	}
	key, err := minisign.ParseSecretKey(text, o.password)
	if err != nil {
		return fmt.Errorf("%s: %w", o.key, err)
	}
	signature, err := minisign.Sign(key, bin, trustedComment(m))
	if err != nil {
		return err
	}
	path := signaturePath(o.file, o.signature)
	if err := writeFile(path, writeAll(signature)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s: signed by key %s, %q\n", path, key.Public().ID(), trustedComment(m))
	return err
}

// trustedComment says of what a signature is, in the tool's manner: words with
// tabs between. There is no time in it, so that the same plugin has the same
// signature.
func trustedComment(m *policy.Module) string {
	return fmt.Sprintf("plugin:%s\tversion:%s\tdigest:%s", m.Manifest.Name, m.Manifest.Version, m.Digest)
}

// askPassword asks on the terminal, or takes the first line where there is none.
func askPassword(s Streams, in *os.File) (string, error) {
	if term.IsTerminal(int(in.Fd())) {
		fmt.Fprint(s.Err, "password of the key: ")
		word, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(s.Err)
		if err != nil {
			return "", fmt.Errorf("read password: %w", err)
		}
		return string(word), nil
	}
	line, err := bufio.NewReader(io.LimitReader(in, 1024)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read password: %w", err)
	}
	if line == "" {
		return "", &poise.Error{Kind: poise.Denied, Op: "read password", Detail: "the key is encrypted and the standard input is empty, expected its password there or a terminal to ask on"}
	}
	return strings.TrimRight(line, "\r\n"), nil
}
