import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import { ApiError } from '../../api/errors/api-error.ts'
import { equalJson } from '../../api/json.ts'
import { formatTime } from '../../api/metadata/time.ts'
import type { AnyObject, WriteContext } from '../kinds/definition.ts'
import { randomUid } from '../kinds/metadata.ts'
import type { RequestContext } from './request.ts'

/**
 * What admission knows and remembers of one request. It lives as long as the request and so survives every retry of it: a
 * write that lost a race, a refusal that is evaluated again behind a read barrier, a custom kind whose schema changed.
 */
export class AdmissionContext {
  /** Who asks, the deadline and the signal of the request, and where warnings and audit annotations go. */
  readonly request: RequestContext
  readonly #clock: Clock
  readonly #random: Random
  /** Made on first use: most requests ask nothing that calls out. */
  #answers: Map<string, RememberedAnswer> | null = null
  #requestUid: string | null = null
  #writing: WriteContext | null = null
  /**
   * The refusal of this request that rests on memory and on a definition as they were behind a read barrier. null: none
   * yet.
   */
  confirmedRefusal: ApiError | null = null

  constructor(request: RequestContext, parts: { readonly clock: Clock; readonly random: Random }) {
    this.request = request
    this.#clock = parts.clock
    this.#random = parts.random
  }

  /** The user and the time of the request, which objects may show. The same in every evaluation. */
  get writing(): WriteContext {
    this.#writing ??= { user: this.request.user, time: formatTime(this.#clock.wallMs()) }
    return this.#writing
  }

  /** Tells this request from all others, and is the same in every retry. Drawn on first use. */
  get requestUid(): string {
    this.#requestUid ??= randomUid(this.#random)
    return this.#requestUid
  }

  /**
   * The answer of something that calls out. It is asked again only when the objects differ from those it was asked about
   * before: a retry alone never asks twice. A refusal is an answer too.
   *
   * @param name of what is asked; one answer is remembered for each, so as many as there are
   * @throws ApiError
   */
  async askOnce<T extends AnyObject | null>(
    name: string,
    about: AskedAbout,
    ask: () => Promise<T>,
  ): Promise<T> {
    this.#answers ??= new Map()
    const answers = this.#answers
    const known = answers.get(name)
    if (known !== undefined && isSame(known.about, about)) {
      if (known.refusal !== null) throw known.refusal
      // What was asked under this name before was answered with the same type.
      return known.value as T
    }
    try {
      const value = await ask()
      answers.set(name, { about, value, refusal: null })
      return value
    } catch (cause) {
      if (cause instanceof ApiError) answers.set(name, { about, value: null, refusal: cause })
      throw cause
    }
  }
}

/** The objects that a question is about. */
export type AskedAbout = { readonly object: AnyObject | null; readonly oldObject: AnyObject | null }

type RememberedAnswer = {
  readonly about: AskedAbout
  readonly value: AnyObject | null
  readonly refusal: ApiError | null
}

function isSame(a: AskedAbout, b: AskedAbout): boolean {
  return equalJson(a.object, b.object) && equalJson(a.oldObject, b.oldObject)
}
