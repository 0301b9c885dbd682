import { causesOf } from '../../../../../src/api/errors/findings.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { listOf, struct } from '../../../../../src/api/schema/build.ts'
import { conform } from '../../../../../src/api/schema/conform.ts'
import { applyDefaults } from '../../../../../src/api/schema/default.ts'
import type { ObjectSchema } from '../../../../../src/api/schema/schema.ts'
import { validateSchema } from '../../../../../src/api/schema/validate.ts'

export type Shaped = {
  readonly value: JsonObject
  /** Causes such as `FieldValueRequired at.path`. */
  readonly causes: readonly string[]
  /** The message of each cause. */
  readonly words: readonly string[]
}

/** Decodes, defaults and validates a struct with the path `at`. */
export function shaped(schema: ObjectSchema, at: string, value: JsonObject): Shaped {
  const whole = struct('test.v1.Whole', 'Holds what is tested.', { [at]: listOf(1, schema, 'One.') })
  const held = applyDefaults(whole, conform(whole, { [at]: [value] }).value)
  const causes = causesOf((found) => {
    validateSchema(whole, held, found)
  })
  const items = held[at] as readonly JsonObject[]
  const field = (path: string) => path.replace(`${at}[0]`, at)
  return {
    value: items[0] ?? {},
    causes: causes.map((cause) => `${cause.reason} ${field(cause.field)}`),
    words: causes.map((cause) => cause.message),
  }
}
