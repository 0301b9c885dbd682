import type { Json } from '../json.ts'
import { isJsonList, isJsonObject } from '../json.ts'

/**
 * Returns the text, or its beginning and `...` if it is longer. The beginning is a copy: in V8 a
 * substring references the whole string, so an error would keep a body of 3 MiB alive.
 *
 * @param lengthMax UTF-16 code units, without the dots
 */
export function shortText(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${copied(text, lengthMax)}...`
}

/** Returns the result of `shortText` for the JSON text of a value, without formatting all of it. */
export function shortJson(value: Json | undefined, lengthMax: number): string {
  return shortText(beginning(value ?? null, lengthMax + 1), lengthMax)
}

/** Formats a value until the text has `enough` characters. */
function beginning(value: Json, enough: number): string {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'string') {
    return value.length <= enough ? JSON.stringify(value) : JSON.stringify(copied(value, enough))
  }
  if (isJsonList(value)) return beginningOfAll('[', value, ']', enough, (item, left) => beginning(item, left))
  if (!isJsonObject(value)) return JSON.stringify(value)
  const names = Object.keys(value)
  return beginningOfAll('{', names, '}', enough, (name, left) => {
    return `${beginning(name, left)}:${beginning(value[name] ?? null, left)}`
  })
}

function beginningOfAll<Item>(
  open: string,
  items: readonly Item[],
  close: string,
  enough: number,
  textOf: (item: Item, left: number) => string,
): string {
  let text = open
  for (let at = 0; at < items.length; at++) {
    if (text.length >= enough) return text
    text += (at === 0 ? '' : ',') + textOf(items[at] as Item, enough - text.length)
  }
  return text + close
}

/** Copies a prefix without a lone surrogate at its end, which UTF-8 cannot encode. */
function copied(text: string, length: number): string {
  const last = text.charCodeAt(length - 1)
  const end = last >= 0xd800 && last <= 0xdbff ? length - 1 : length
  return JSON.parse(JSON.stringify(text.slice(0, end))) as string
}
