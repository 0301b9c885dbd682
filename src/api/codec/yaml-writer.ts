import { isJsonList, isJsonObject } from '../json.ts'
import type { Json, JsonObject } from '../json.ts'
import { yamlName, yamlQuoted, yamlScalar } from './yaml-scalar.ts'

/**
 * A value as one YAML document, laid out as existing tools do: members by name, the items of a list no further in
 * than the member that holds it.
 *
 * @param value not deeper than what `parseJson` lets in
 * @returns ends with a newline; no line of it is `---`
 */
export function yamlText(value: Json): string {
  const writer = new YamlWriter()
  writer.whole(value)
  return writer.text
}

/** The value as an item of the list that is the last member of a map, such as one of a list of objects. */
export function yamlItem(value: Json): string {
  const writer = new YamlWriter()
  writer.items([value], 0)
  return writer.text
}

/** What is deeper stands on one line, in brackets: many small values far in would grow a hundredfold. */
const LEVELS_MAX = 16

/** Readers look only so far for the end of a name; longer ones are marked. @source YAML 1.1 and 1.2: 1024 characters */
const NAME_LENGTH_MAX = 1000

/** Whoever calls it has indented the first line already. */
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
      this.#behindColon(object[name] ?? null, level)
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

  #behindColon(value: Json, level: number): void {
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

/** On one line, in brackets. */
function flow(value: Json): string {
  if (isJsonList(value)) return `[${value.map(flow).join(', ')}]`
  if (!isJsonObject(value)) return typeof value === 'string' ? yamlQuoted(value) : yamlScalar(value, 0)
  const members = Object.keys(value)
    .sort()
    .map((name) => {
      const mark = name.length > NAME_LENGTH_MAX ? '? ' : ''
      return `${mark}${yamlQuoted(name)}: ${flow(value[name] ?? null)}`
    })
  return `{${members.join(', ')}}`
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
