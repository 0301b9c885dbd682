import type { JsonObject } from '../../api/json.ts'
import type { ApiObject } from '../../api/metadata/object.ts'

type AnyObject = ApiObject & JsonObject

/** The inputs of the decision about another object; see `OperationSubresource`. */
export type JointContext = {
  /** The object of the path. */
  readonly object: AnyObject
  /** RFC 3339, whole seconds. */
  readonly time: string
  /**
   * Returns the objects of another kind in the same namespace, as stored, that `matches` selects.
   * Yields to the event loop between large objects.
   */
  readonly filter: (
    place: { readonly group: string; readonly plural: string },
    matches: (object: AnyObject) => boolean,
  ) => Promise<readonly AnyObject[]>
}

export type JointChange =
  | { readonly kind: 'none' }
  /** Nothing else changes, but the operation is allowed on this version of its object only. */
  | { readonly kind: 'only-this-version' }
  /** @param object one that was listed, with changes */
  | { readonly kind: 'put'; readonly group: string; readonly plural: string; readonly object: AnyObject }
