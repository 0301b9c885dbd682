import ts from 'typescript'

/** A comment or a string with spaces in a source file, or a line of a document. */
export type Prose = {
  readonly line: number
  readonly text: string
  readonly kind: 'comment' | 'text' | 'document'
}

/**
 * Words that hide which component does what. `whose` is not among them: of things it is standard
 * English.
 */
const markers: readonly RegExp[] = [
  /\b(whoever|whomever|whom|nobody|somebody|anybody|everybody)\b/i,
  /\b(told|tells|tell|telling)\b/i,
  /\b(say|says|said|speak|speaks|spoken|hears?|heard)\b/i,
  /\b(is|are|was|were|be|has|have) none\b/i,
  /\bno more\b(?! than)/i,
  /\b(anew|meanwhile|beside)\b/i,
  /\b(so many|how manieth)\b/i,
  /\bwho\b/i,
  /\b(last|newest|its) word\b/i,
  /\b(reign|succession|heir|vow|doorkeeper|desk|testimony|accused|condemn\w*|acquaintance\w*|stranger\w*)\b/i,
  /\b(wish|wishe[sd]|manners|believe[sd]?)\b/i,
  /\brooms?\b/i,
]

/**
 * The markers that documents must not contain: `who`, for people, and `says` with its forms are
 * allowed there.
 */
const documentMarkers = markers.filter((marker) => !marker.test('who') && !marker.test('says'))

/** The beginning of a comment that is a fragment, to be read together with the name below it. */
const fragment = /^[\s*]*(Of|Whose|Who|What|Before|Behind|Beside) [a-z]/

type Exception = { readonly path: RegExp; readonly text: RegExp; readonly why: string }

const exceptions: readonly Exception[] = [
  { path: /^test\/tidy\/plain-english/, text: /[^]*/g, why: 'the markers themselves' },
  { path: /./, text: /who ?am ?i/gi, why: 'an operation of Kubernetes' },
  {
    path: /./,
    text: /nobody-token|nobody,|"nobody"|'nobody'|Bearer nobody/g,
    why: 'a user without permissions',
  },
  { path: /./, text: /\bmakes?[ -]room\b/g, why: 'the term for writes that free storage' },
  { path: /./, text: /\bthere (?:is|was|are|were) none\b/g, why: 'standard English' },
  { path: /^src\/resources\/pods\/pod-dns/, text: /is None/g, why: 'a value of a field' },
  { path: /./, text: /`[^`\n]*`/g, why: 'a name of the program, quoted' },
  { path: /./, text: /\b(?:RFC \d+|section [\d.]+) says\b/g, why: 'a source is quoted' },
]

/**
 * Returns the comments of a source and its strings with spaces. Values in templates are code and
 * not returned. Consecutive comment lines are one comment.
 */
export function proseOf(path: string, source: string): readonly Prose[] {
  const file = ts.createSourceFile(path, source, {
    languageVersion: ts.ScriptTarget.Latest,
    jsDocParsingMode: ts.JSDocParsingMode.ParseNone,
  })
  const found: Prose[] = []
  const literals: Span[] = []
  const lineOf = (at: number): number => file.getLineAndCharacterOfPosition(at).line + 1
  const visit = (node: ts.Node): void => {
    if (!isLiteral(node)) {
      ts.forEachChild(node, visit)
      return
    }
    const span = { from: node.getStart(file), to: node.end }
    literals.push(span)
    const isText = !ts.isRegularExpressionLiteral(node) && /\s/.test(node.text)
    if (isText) found.push({ line: lineOf(span.from), text: node.text, kind: 'text' })
  }
  visit(file)
  for (const { from, to } of commentsIn(source, literals)) {
    found.push({ line: lineOf(from), text: paragraphsOf(source.slice(from, to)), kind: 'comment' })
  }
  return found
}

/** A part of a source, from one offset to before another one. */
type Span = { readonly from: number; readonly to: number }

type Literal = ts.StringLiteralLike | ts.RegularExpressionLiteral | ts.TemplateLiteralToken

/** Whether a node may contain text that looks like a comment. */
function isLiteral(node: ts.Node): node is Literal {
  return ts.isLiteralExpression(node)
    ? ts.isStringLiteralLike(node) || ts.isRegularExpressionLiteral(node)
    : ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)
}

/** @param literals in the order of the source */
function commentsIn(source: string, literals: readonly Span[]): readonly Span[] {
  const comments: Span[] = []
  let isLine = false
  let from = 0
  for (const { from: end, to } of [...literals, { from: source.length, to: source.length }]) {
    for (const { 0: text, index } of source.slice(from, end).matchAll(/\/\*[^]*?\*\/|\/\/[^\n]*/g)) {
      const span = { from: from + index, to: from + index + text.length }
      const before = comments.at(-1)
      const continues = isLine && text.startsWith('//') && before !== undefined
      if (continues && /^\r?\n[ \t]*$/.test(source.slice(before.to, span.from))) {
        comments[comments.length - 1] = { from: before.from, to: span.to }
      } else {
        comments.push(span)
        // A comment after code does not continue in the next line.
        isLine = text.startsWith('//') && startsLine(source, span.from)
      }
    }
    from = to
  }
  return comments
}

function startsLine(source: string, at: number): boolean {
  return source.slice(source.lastIndexOf('\n', at - 1) + 1, at).trim() === ''
}

/** Returns the text of a comment, with one line for each paragraph. */
function paragraphsOf(comment: string): string {
  return comment
    .replace(/^\/\*\*?|\*\/$/g, '')
    .replace(/^[ \t]*(?:\/\/|\*)?[ \t]*/gm, '')
    .replace(/(?<=\S)[ \t]*\r?\n(?=\S)/g, ' ')
}

/** Returns the markers in one comment, text or line. */
export function markersIn(path: string, { text, kind }: Prose): readonly string[] {
  const rest = exceptions
    .filter((exception) => exception.path.test(path))
    .reduce((left, exception) => left.replace(exception.text, ''), text)
  const words = { comment: [...markers, fragment], text: markers, document: documentMarkers }[kind]
  return words.flatMap((word) => word.exec(rest)?.[0].trim() ?? [])
}
