import { Buffer } from 'node:buffer'
import { jsonText } from '../../api/codec/json-text.ts'
import type { JsonObject } from '../../api/json.ts'
import { API_TITLE } from './words.ts'

export const SWAGGER = '2.0'

/**
 * A way to encode the Swagger document member by member, so that the contributions of kinds can be
 * encoded separately and kept.
 */
export type DocumentForm = {
  readonly path: (path: string, item: JsonObject) => Uint8Array
  readonly definition: (name: string, schema: JsonObject) => Uint8Array
  /** Assembles the members of the document: consecutive pieces, one per member. */
  readonly whole: (
    version: string,
    paths: readonly Uint8Array[],
    definitions: readonly Uint8Array[],
  ) => readonly Uint8Array[]
}

export const jsonForm: DocumentForm = {
  path: memberText,
  definition: memberText,
  whole: (version, paths, definitions) => [
    Buffer.from(`{"swagger":"${SWAGGER}","info":${jsonText({ title: API_TITLE, version })},"paths":{`),
    ...separated(paths),
    Buffer.from('},"definitions":{'),
    ...separated(definitions),
    Buffer.from('}}'),
  ],
}

function memberText(name: string, value: JsonObject): Uint8Array {
  return Buffer.from(`${jsonText(name)}:${jsonText(value)}`)
}

function separated(members: readonly Uint8Array[]): readonly Uint8Array[] {
  return members.flatMap((member, at) => (at === 0 ? [member] : [COMMA, member]))
}

const COMMA = Buffer.from(',')
