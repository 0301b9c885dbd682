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
 * not returned.
 */
export function proseOf(path: string, source: string): readonly Prose[] {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true)
  const comments = new Map<number, number>()
  const found: Prose[] = []
  const lineOf = (at: number): number => file.getLineAndCharacterOfPosition(at).line + 1
  const visit = (node: ts.Node): void => {
    const ranges = [
      ...(ts.getLeadingCommentRanges(source, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(source, node.getEnd()) ?? []),
    ]
    for (const { pos, end } of ranges) comments.set(pos, end)
    const isText =
      ts.isStringLiteralLike(node) ||
      ts.isTemplateHead(node) ||
      ts.isTemplateMiddle(node) ||
      ts.isTemplateTail(node)
    if (isText && /\s/.test(node.text) && !ts.isImportDeclaration(node.parent)) {
      found.push({ line: lineOf(node.getStart(file)), text: node.text, kind: 'text' })
    }
    for (const child of node.getChildren(file)) visit(child)
  }
  visit(file)
  for (const [pos, end] of comments) {
    const text = source.slice(pos, end).replace(/^\/\*\*?|^\/\//, '')
    found.push({ line: lineOf(pos), text, kind: 'comment' })
  }
  return found
}

/** Returns the markers in one comment, text or line. */
export function markersIn(path: string, { text, kind }: Prose): readonly string[] {
  const rest = exceptions
    .filter((exception) => exception.path.test(path))
    .reduce((left, exception) => left.replace(exception.text, ''), text)
  const words = { comment: [...markers, fragment], text: markers, document: documentMarkers }[kind]
  return words.flatMap((word) => word.exec(rest)?.[0].trim() ?? [])
}
