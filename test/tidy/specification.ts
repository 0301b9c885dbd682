import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './markdown.ts'
import { sourcesUnder } from './sources.ts'

const documentPath = 'docs/specification.md'

/**
 * How a statement relates to the tests:
 * - `tested`: the title of a test must name it
 * - `untested`: the server does it, and no title names it
 * - `not-yet`: the server does not do it
 * - `note`: about clients or other programs, so no test of the server can prove it
 */
export type Standing = 'tested' | 'untested' | 'not-yet' | 'note'

/** One list item under a numbered heading of `docs/specification.md`. */
export type Statement = {
  /** The number of the heading, such as `4.8.3`. */
  readonly number: string
  /** The bold words at its beginning, unique under the number. */
  readonly label: string
  readonly standing: Standing
  /** Text of the title that proves it, under this number. */
  readonly proof: { readonly number: string; readonly words: string }
}

export type Heading = { readonly number: string; readonly anchor: string }

/** A test whose title begins with `spec NUMBER, NUMBER: `. */
export type NamedTest = { readonly numbers: readonly string[]; readonly words: string }

export type Specification = {
  readonly headings: readonly Heading[]
  readonly statements: readonly Statement[]
}

/**
 * Reads `docs/specification.md`.
 *
 * @throws Error for a statement that has contradictory marks or no label
 */
export function readSpecification(): Specification {
  const text = readFileSync(join(root, documentPath), 'utf8')
  const headings: Heading[] = []
  const statements: Statement[] = []
  for (const block of text.split(/\n(?=- |#)|\n\n/)) {
    const heading = /^#{2,4} <a id="(\w+)"><\/a>([\d.]+) \S/.exec(block)
    if (heading !== null) headings.push({ anchor: heading[1] ?? '', number: heading[2] ?? '' })
    // The list before the first heading explains how to read the document.
    const number = headings.at(-1)?.number
    if (number !== undefined && block.startsWith('- ')) statements.push(statementOf(number, block))
  }
  return { headings, statements }
}

/** Returns whether the title of a test names the statement. */
export function proves(test: NamedTest, { proof }: Statement): boolean {
  const words = proof.words.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return test.numbers.includes(proof.number) && new RegExp(`(?<!\\w)${words}(?!\\w)`, 'i').test(test.words)
}

/** Returns every test whose title begins with numbers of the specification. */
export function namedTests(): readonly NamedTest[] {
  const texts = sourcesUnder('test').map((path) => readFileSync(join(root, path), 'utf8'))
  return texts.flatMap((source) => {
    const found = source.matchAll(/\b(?:test|it)\(\s*(['"`])spec ([\d., ]+): (.+?)\1,/g)
    return [...found].map(([, , numbers = '', words = '']) => ({
      numbers: numbers.split(',').map((number) => number.trim()),
      words: words.replaceAll('`', ''),
    }))
  })
}

function statementOf(number: string, block: string): Statement {
  const text = block.replace(/\s+/g, ' ').trim()
  const match = /^- \*\*(.+?)\.\*\* .+?(?:[.)]|(?: <!-- (.+) -->))$/.exec(text)
  if (match === null) throw new Error(`${documentPath}: no statement with a bold label: ${text}`)
  const label = (match[1] ?? '').replaceAll('`', '')
  const { standing, words } = markOf(text, match[2] ?? '')
  const other = /^(\d[\d.]*) (.+)$/.exec(words)
  const proof =
    other === null ? { number, words: words || label } : { number: other[1] ?? '', words: other[2] ?? '' }
  return { number, label, standing, proof }
}

/** @param comment what is written in the comment at the end of the item, empty without one */
function markOf(text: string, comment: string): { readonly standing: Standing; readonly words: string } {
  const isOpen = text.includes('(not yet)')
  if (isOpen && comment === '' && text.endsWith('(not yet)')) return { standing: 'not-yet', words: '' }
  if (!isOpen && comment === '') return { standing: 'tested', words: '' }
  if (!isOpen && (comment === 'untested' || comment === 'note')) return { standing: comment, words: '' }
  if (!isOpen && comment.startsWith('test: ')) return { standing: 'tested', words: comment.slice(6) }
  throw new Error(`${documentPath}: contradictory or unknown marks: ${text}`)
}
