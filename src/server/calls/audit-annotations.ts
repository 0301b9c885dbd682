import { limits } from '../../config/limits.ts'

/**
 * The annotations of an audit event, up to a limit. Beyond it, one annotation states that others
 * were dropped.
 */
export class AuditAnnotations {
  readonly all: ReadonlyMap<string, string>
  readonly #map = new Map<string, string>()
  readonly #droppedKey: string
  #characters = 0

  /** @param droppedKey the key of that annotation */
  constructor(droppedKey: string) {
    this.#droppedKey = droppedKey
    this.all = this.#map
  }

  /** The first value of a key is kept. */
  add(key: string, value: string): void {
    if (this.#map.has(key)) return
    const characters = key.length + value.length
    if (this.#characters + characters > limits.auditAnnotationCharactersMax) {
      this.#map.set(this.#droppedKey, 'true')
      return
    }
    this.#characters += characters
    this.#map.set(key, value)
  }
}
