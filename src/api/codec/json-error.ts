/** The place of a syntax error in a JSON text. */
export type SyntaxPlace = {
  /** From 1. */
  readonly line: number
  /** From 1, in UTF-16 code units. */
  readonly column: number
  /** From 0, in UTF-16 code units. */
  readonly offset: number
}

/**
 * Returns the place of the syntax error in a text that `JSON.parse` refused; the end of the text if
 * it is truncated. The messages of `JSON.parse` are not used: they quote the text around the error,
 * which may be a password.
 *
 * @source RFC 8259
 */
export function jsonErrorPlace(text: string): SyntaxPlace {
  return placeAt(text, new JsonScanner(text).errorOffset())
}

export function placeAt(text: string, offset: number): SyntaxPlace {
  let line = 1
  let start = 0
  for (let next = text.indexOf('\n'); next !== -1 && next < offset; next = text.indexOf('\n', next + 1)) {
    line++
    start = next + 1
  }
  return { line, column: offset - start + 1, offset }
}

export function placeWords({ line, column, offset }: SyntaxPlace): string {
  return `line ${line}, column ${column} (offset ${offset})`
}

type Expected = 'value' | 'first element' | 'first name' | 'name' | 'colon' | 'separator' | 'end'

/**
 * Reads token by token, without recursion; `#at` is the position of the next token, or of the
 * error.
 */
class JsonScanner {
  readonly #text: string
  /** The closing bracket of each open container. */
  readonly #open: ('}' | ']')[] = []
  #at = 0
  #expected: Expected = 'value'

  constructor(text: string) {
    this.#text = text
  }

  errorOffset(): number {
    for (;;) {
      this.#skip(SPACE)
      if (this.#at >= this.#text.length || !this.#step(this.#text.charAt(this.#at))) return this.#at
    }
  }

  /** @returns false: the character is not valid here */
  #step(char: string): boolean {
    switch (this.#expected) {
      case 'value':
      case 'first element':
        if (char === ']' && this.#expected === 'first element') return this.#close(char)
        return this.#value(char)
      case 'first name':
      case 'name':
        if (char === '}' && this.#expected === 'first name') return this.#close(char)
        this.#expected = 'colon'
        return char === '"' && this.#string()
      case 'colon':
        this.#expected = 'value'
        return this.#take(char === ':')
      case 'separator':
        if (char !== ',') return this.#close(char)
        this.#expected = this.#open.at(-1) === '}' ? 'name' : 'value'
        return this.#take(true)
      case 'end':
        return false
    }
  }

  #value(char: string): boolean {
    if (char === '{' || char === '[') {
      this.#open.push(char === '{' ? '}' : ']')
      this.#expected = char === '{' ? 'first name' : 'first element'
      return this.#take(true)
    }
    if (!(char === '"' ? this.#string() : this.#match(/[-0-9]/.test(char) ? NUMBER : WORD))) return false
    this.#ended()
    return true
  }

  #close(char: string): boolean {
    if (char !== this.#open.at(-1)) return false
    this.#open.pop()
    this.#ended()
    return this.#take(true)
  }

  #ended(): void {
    this.#expected = this.#open.length === 0 ? 'end' : 'separator'
  }

  #take(isRight: boolean): boolean {
    if (isRight) this.#at++
    return isRight
  }

  #match(form: RegExp): boolean {
    form.lastIndex = this.#at
    if (!form.test(this.#text)) return false
    this.#at = form.lastIndex
    return true
  }

  /** Moves to the end of a string, or to its first invalid character. */
  #string(): boolean {
    this.#at++
    for (; this.#at < this.#text.length; this.#at++) {
      const code = this.#text.charCodeAt(this.#at)
      if (code === QUOTE) return this.#take(true)
      if (code < 0x20) return false
      if (code !== BACKSLASH) continue
      ESCAPE.lastIndex = this.#at
      if (!ESCAPE.test(this.#text)) return false
      this.#at = ESCAPE.lastIndex - 1
    }
    return false
  }

  #skip(form: RegExp): void {
    form.lastIndex = this.#at
    form.test(this.#text)
    this.#at = form.lastIndex
  }
}

const SPACE = /[ \t\n\r]*/y
const QUOTE = 0x22
const BACKSLASH = 0x5c
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y
const WORD = /true|false|null/y
