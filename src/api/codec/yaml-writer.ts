import { isJsonList, isJsonObject } from '../json.ts'
import type { Json, JsonObject } from '../json.ts'
import { yamlName, yamlQuoted, yamlScalar } from './yaml-scalar.ts'

/**
 * Formats a value as one YAML document, with the layout of existing tools: members by name, list
 * items not indented further than the member of the list.
 *
 * @param value of any depth
 * @returns text that ends with a newline; no line of it is `---`
 */
export function yamlText(value: Json): string {
  const writer = new YamlWriter()
  writer.whole(value)
  return writer.text
}

/**
 * Formats a value as an item of the list that is the last member of a map, such as an object list.
 */
export function yamlItem(value: Json): string {
  const writer = new YamlWriter()
  writer.items([value], 0)
  return writer.text
}

/**
 * Deeper levels are written in flow style on one line; with block indentation many small values at
 * a great depth would grow a hundredfold.
 */
const LEVELS_MAX = 16

/**
 * Parsers search for the end of a name only in the next 1024 characters; longer names need an
 * explicit key marker.
 *
 * @source YAML 1.1 and 1.2
 */
const NAME_LENGTH_MAX = 1000

/** Writes YAML. The caller has already indented the first line of each value. */
class YamlWriter {
  text = ''

  whole(value: Json): void {
    if (isFilledObject(value)) this.members(value, 0)
    else if (isFilledList(value)) this.items(value, 0)
    else this.text += `${yamlScalar(value, 1)}\n`
  }

  members(object: JsonObject, level: number): void {
    let first = true
    for (const name of Object.keys(object).sort()) {
      if (!first) this.text += indent(level)
      first = false
      const written = yamlName(name)
      this.text += written.length > NAME_LENGTH_MAX ? `? ${written}\n${indent(level)}:` : `${written}:`
      this.#afterColon(object[name] ?? null, level)
    }
  }

  items(list: readonly Json[], level: number): void {
    let first = true
    for (const item of list) {
      if (!first) this.text += indent(level)
      first = false
      this.text += '- '
      if (level >= LEVELS_MAX) this.#leaf(item, level)
      else if (isFilledObject(item)) this.members(item, level + 1)
      else if (isFilledList(item)) this.items(item, level + 1)
      else this.#leaf(item, level)
    }
  }

  #afterColon(value: Json, level: number): void {
    if (level < LEVELS_MAX && isFilledList(value)) {
      this.text += `\n${indent(level)}`
      this.items(value, level)
    } else if (level < LEVELS_MAX && isFilledObject(value)) {
      this.text += `\n${indent(level + 1)}`
      this.members(value, level + 1)
    } else {
      this.text += ' '
      this.#leaf(value, level)
    }
  }

  #leaf(value: Json, level: number): void {
    this.text += isJsonList(value) || isJsonObject(value) ? flow(value) : yamlScalar(value, level + 1)
    this.text += '\n'
  }
}

/**
 * Writes flow style on one line. Without recursion: objects that were stored before may have any
 * depth.
 */
function flow(value: Json): string {
  const open: Level[] = []
  let text = ''
  const begin = (one: Json): void => {
    if (!isJsonList(one) && !isJsonObject(one)) {
      text += typeof one === 'string' ? yamlQuoted(one) : yamlScalar(one, 0)
      return
    }
    text += isJsonList(one) ? '[' : '{'
    open.push({ left: entriesOf(one), close: isJsonList(one) ? ']' : '}', isFirst: true })
  }
  begin(value)
  for (let level = open.at(-1); level !== undefined; level = open.at(-1)) {
    const next = level.left.next()
    if (next.done === true) {
      text += level.close
      open.pop()
      continue
    }
    const [name, inside] = next.value
    if (!level.isFirst) text += ', '
    level.isFirst = false
    if (name !== null) text += `${name.length > NAME_LENGTH_MAX ? '? ' : ''}${yamlQuoted(name)}: `
    begin(inside)
  }
  return text
}

/** The name is null for an element of a list. */
type Entry = readonly [name: string | null, value: Json]

/** A list or map that is not completely written yet. */
type Level = { readonly left: Iterator<Entry, void>; readonly close: ']' | '}'; isFirst: boolean }

function* entriesOf(value: JsonObject | readonly Json[]): Generator<Entry, void> {
  if (isJsonList(value)) for (const item of value) yield [null, item]
  else for (const name of Object.keys(value).sort()) yield [name, value[name] ?? null]
}

function isFilledObject(value: Json): value is JsonObject {
  return isJsonObject(value) && Object.keys(value).length > 0
}

function isFilledList(value: Json): value is readonly Json[] {
  return isJsonList(value) && value.length > 0
}

function indent(level: number): string {
  return '  '.repeat(level)
}
