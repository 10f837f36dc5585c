package cabundle

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// typeCertificate is the type of PEM blocks with certificates.
const typeCertificate = "CERTIFICATE"

// ErrPrivateKey is wrapped by the error of Parse if the bundle contains a private key.
var ErrPrivateKey = errors.New("private key")

// block is a PEM block.
type block struct {
	label string
	line  int
	// text is the whole block, without blanks around its lines.
	text []byte
	// torn is the reason why it is no valid block; empty if it is.
	torn string
}

// Parse parses the certificates of a PEM file and ignores text between them. The error joins all errors; the valid
// certificates are returned nevertheless. A file without certificates is an error.
func Parse(content []byte) ([]Certificate, error) {
	blocks, problems := split(content)
	var certificates []Certificate
	for i, b := range blocks {
		c, err := b.certificate()
		if err != nil {
			problems = append(problems, fmt.Errorf("block %d of %d (line %d): %w", i+1, len(blocks), b.line, err))
			continue
		}
		certificates = append(certificates, Certificate{Certificate: c, Number: i + 1, Of: len(blocks), Line: b.line})
	}
	if len(blocks) == 0 && len(problems) == 0 {
		problems = append(problems, whyNone(content))
	}
	return certificates, errors.Join(problems...)
}

// split finds the blocks. It ignores blanks around lines, which editors or YAML may add.
func split(content []byte) (blocks []block, problems []error) {
	var open *block
	number := 0
	for line := range bytes.Lines(content) {
		number++
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
		label, begins := cutLabel(line, "-----BEGIN ")
		_, ends := cutLabel(line, "-----END ")
		if begins {
			if open != nil {
				open.torn = "has no END line"
				blocks = append(blocks, *open)
			}
			open = &block{label: label, line: number}
		}
		if open != nil {
			open.text = append(append(open.text, line...), '\n')
		}
		if !ends {
			continue
		}
		if open == nil {
			problems = append(problems, fmt.Errorf("line %d ends a block that has not begun", number))
			continue
		}
		blocks = append(blocks, *open)
		open = nil
	}
	if open != nil {
		open.torn = "has no END line: the end is cut off"
		blocks = append(blocks, *open)
	}
	return blocks, problems
}

// cutLabel returns the label of a line that begins or ends a block.
func cutLabel(line []byte, begin string) (label string, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(begin))
	return string(bytes.TrimSuffix(rest, []byte("-----"))), ok && bytes.HasSuffix(rest, []byte("-----"))
}

func (b block) certificate() (*x509.Certificate, error) {
	switch {
	case strings.Contains(b.label, "PRIVATE KEY"):
		return nil, fmt.Errorf("is a %w, where only certificates belong: take it out, and replace the key, since everybody who can read this could read it", ErrPrivateKey)
	case strings.Contains(b.label, "-----") || bytes.Contains(b.text, []byte(`\n`)):
		return nil, errors.New(`has lost its line ends: in YAML, write "|" before the text, not ">" or quotes`)
	case b.torn != "":
		return nil, errors.New(b.torn)
	case b.label != typeCertificate:
		return nil, fmt.Errorf("is a %.40q, not a certificate", b.label)
	}
	decoded, _ := pem.Decode(b.text)
	if decoded == nil {
		return nil, errors.New("is not valid PEM: what is between its BEGIN and END lines is not base64")
	}
	c, err := x509.ParseCertificate(decoded.Bytes)
	if err != nil {
		return nil, fmt.Errorf("is not a certificate: %w", err)
	}
	return c, nil
}

// whyNone describes a file without blocks.
func whyNone(content []byte) error {
	text := bytes.TrimSpace(content)
	if len(text) == 0 {
		return errors.New("is empty")
	}
	if looksLikeDER(content) {
		return errors.New("is in DER form; convert it: openssl x509 -inform der -in FILE -out ca-bundle.crt")
	}
	if strings.Contains(string(text), "-----BEGIN ") {
		return errors.New(`has lost its line ends: in YAML, write "|" before the text, not ">" or quotes`)
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	decoded := make([]byte, base64.StdEncoding.DecodedLen(len(first)))
	n, err := base64.StdEncoding.Decode(decoded, bytes.TrimSpace(first))
	if err == nil && looksLikeDER(decoded[:n]) {
		return errors.New("is base64 without the lines -----BEGIN CERTIFICATE----- and -----END CERTIFICATE-----; put them around it")
	}
	return errors.New("has no certificate in PEM form, which begins with the line -----BEGIN CERTIFICATE-----")
}

// looksLikeDER reports whether bytes begin like a certificate in DER encoding: a sequence with a length of two bytes.
func looksLikeDER(content []byte) bool {
	return len(content) > 4 && content[0] == 0x30 && content[1] == 0x82
}
