import type { Quantity } from '../../schema/quantity.ts'
import { compareQuantities } from '../../schema/quantity.ts'
import { CelOpaque } from './value.ts'

/** An amount of a resource. */
export class QuantityValue extends CelOpaque {
  static readonly typeName = 'kubernetes.Quantity'
  readonly typeName = QuantityValue.typeName
  readonly quantity: Quantity

  constructor(quantity: Quantity) {
    super()
    this.quantity = quantity
  }

  equals(other: CelOpaque): boolean {
    return other instanceof QuantityValue && compareQuantities(this.quantity, other.quantity) === 0
  }
}
