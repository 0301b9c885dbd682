import { parseDocument } from 'yaml'
import type { ErrorCode } from 'yaml'

const spaces = 'spaces for the indentation, not a tab'
const oneLine = 'a line such as `data-dir: /var/lib/orch`, not indented; quote a value that holds ": "'
const closed = 'a closing quote or bracket, or deeper indentation of the lines inside'

/** Messages by error code: the parser's own messages quote the text, which may contain a secret. */
const expectations: Readonly<Partial<Record<ErrorCode, string>>> = {
  BAD_DQ_ESCAPE: 'a known escape after the backslash; single quotes take it as it is',
  BAD_INDENT: closed,
  BAD_SCALAR_START: 'quotes around a value that begins with such a sign',
  BLOCK_AS_IMPLICIT_KEY: oneLine,
  DUPLICATE_KEY: 'each flag once',
  MISSING_CHAR: closed,
  MULTILINE_IMPLICIT_KEY: oneLine,
  MULTIPLE_DOCS: 'one document',
  TAB_AS_INDENT: spaces,
  TAG_RESOLVE_FAILED: 'a value without a tag; quote a value that begins with "!"',
}

export type YamlText =
  | { readonly kind: 'content'; readonly content: unknown }
  /** Position and expectation, without any of the text. */
  | { readonly kind: 'problem'; readonly problem: string }

/** Reads one YAML document without aliases. Warnings of the parser count as errors. */
export function readYaml(text: string): YamlText {
  const document = parseDocument(text, { logLevel: 'error' })
  const [first] = [...document.errors, ...document.warnings]
  if (first !== undefined) {
    const { line, col } = first.linePos?.[0] ?? { line: 1, col: 1 }
    const expected = expectations[first.code] ?? oneLine
    return { kind: 'problem', problem: `line ${line}, column ${col}: expected ${expected}` }
  }
  try {
    return { kind: 'content', content: document.toJS({ maxAliasCount: 0 }) as unknown }
  } catch {
    return { kind: 'problem', problem: 'expected values without anchors and aliases; quote a "*" or "&"' }
  }
}
