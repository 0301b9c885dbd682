import type { Json, JsonObject } from '../json.ts'

/** @returns in words what is wrong with the path */
export function compileColumnPath(path: string): ((object: JsonObject) => Json) | string {
  return path === '' ? 'must not be empty' : () => null
}
