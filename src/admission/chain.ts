import type { Admission, AdmissionRequest } from '../registry/admission.ts'
import type { AnyObject } from '../registry/definition.ts'

/** One admission plugin: either half may be missing. */
export type AdmissionPlugin = {
  readonly name: string
  /** Returns the object as it shall be. @throws ApiError to refuse */
  readonly mutate?: (request: AdmissionRequest) => AnyObject | null | Promise<AnyObject | null>
  /** @throws ApiError to refuse */
  readonly validate?: (request: AdmissionRequest) => void | Promise<void>
}

/** All plugins in order: each sees what those before it made of the object; the first refusal counts. */
export function admissionChain(plugins: readonly AdmissionPlugin[]): Admission {
  const mutators = plugins.flatMap((plugin) => (plugin.mutate === undefined ? [] : [plugin.mutate]))
  const validators = plugins.flatMap((plugin) => (plugin.validate === undefined ? [] : [plugin.validate]))
  return {
    mutate: async (request) => {
      let { object } = request
      for (const mutate of mutators) {
        const answer = mutate({ ...request, object })
        object = answer instanceof Promise ? await answer : answer
      }
      return object
    },
    validate: async (request) => {
      for (const validate of validators) {
        const answer = validate(request)
        if (answer instanceof Promise) await answer
      }
    },
  }
}
