package config

import "github.com/spf13/pflag"

// AddFlags gives a command a flag for every setting: --api.listen for api.listen,
// --data-dir for data_dir. Load checks what is given, with all the rest.
func AddFlags(flags *pflag.FlagSet) {
	all, defaults := settings(), Defaults()
	for i := range all {
		s := &all[i]
		f := flags.VarPF(&flagText{text: s.print(&defaults), word: s.word}, s.flag(), "", s.about)
		if s.word == "bool" {
			f.NoOptDefVal = "true"
		}
	}
}

// flagText is a flag that is kept as it was given.
type flagText struct{ text, word string }

func (f *flagText) String() string { return f.text }
func (f *flagText) Type() string   { return f.word }

// Set takes anything: Load says what is wrong with it.
func (f *flagText) Set(text string) error {
	f.text = text
	return nil
}
