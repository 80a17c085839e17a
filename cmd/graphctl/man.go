package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man",
		Short: "Print the manual page",
		Long:  "Print the manual page in the format of man(1), with all commands, flags and exit codes.",
		Example: `  graphctl man > /usr/local/share/man/man1/graphctl.1
  graphctl man | man -l -`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := a.out.Write(manual(cmd.Root()))
			return err
		},
	}
}

// manual returns the manual page of a command and its subcommands.
func manual(root *cobra.Command) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH GRAPHCTL 1\n.SH NAME\ngraphctl \\- %s\n", roff(root.Short))
	b.WriteString(".SH SYNOPSIS\n.B graphctl\nCOMMAND [ARGUMENT ...] [\\fB--saver\\fR URL]\n.SH DESCRIPTION\n")
	paragraphs(&b, root.Long)
	b.WriteString(".SH COMMANDS\n")
	for _, cmd := range root.Commands() {
		if !cmd.IsAvailableCommand() || cmd.Name() == "help" {
			continue
		}
		fmt.Fprintf(&b, ".SS %s\n", roff(synopsis(cmd)))
		paragraphs(&b, cmd.Long)
		manFlags(&b, cmd.LocalNonPersistentFlags())
		if cmd.HasExample() {
			fmt.Fprintf(&b, ".PP\n.nf\n%s\n.fi\n", roff(cmd.Example))
		}
	}
	b.WriteString(".SH OPTIONS\nThese options belong to all commands.\n")
	manFlags(&b, root.PersistentFlags())
	b.WriteString(".SH EXIT STATUS\n")
	for line := range strings.Lines(exitCodes) {
		code, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", code, roff(strings.TrimSpace(text)))
	}
	fmt.Fprintf(&b, ".SH ENVIRONMENT\n.TP\n.B %s\nThe default of --saver.\n.TP\n.B %s\nThe keys of an encrypted saver: lines or a list with commas of "+
		"ID:SECRET, with a secret of 32 bytes in base64. The first one encrypts.\n", envSaver, envKeys)
	fmt.Fprintf(&b, ".TP\n.B %s\nThe default of --to.\n.TP\n.B %s\nThe keys of the target.\n", envToSaver, envToKeys)
	return b.Bytes()
}

// synopsis returns the command line of a command: "show THREAD".
func synopsis(cmd *cobra.Command) string {
	line := strings.TrimPrefix(cmd.UseLine(), cmd.Root().Name()+" ")
	if !cmd.HasSubCommands() {
		return line
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	return cmd.Name() + " " + strings.Join(names, "|")
}

// paragraphs writes text, whose paragraphs are divided by empty lines, below a heading.
func paragraphs(w io.Writer, text string) {
	fmt.Fprintln(w, strings.ReplaceAll(roff(text), "\n\n", "\n.PP\n"))
}

func manFlags(w io.Writer, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(w, ".TP\n\\fB%s\\fR %s\n%s\n", roff(name), roff(value), roff(usage))
	})
}

// roff returns text without the meaning that roff gives to some characters.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
