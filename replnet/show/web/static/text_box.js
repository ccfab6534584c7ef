// A box for a text. It tells what is in it on Enter and when it is left, and with `eager` at every key, and what is typed meanwhile stays, whatever the
// server shows: `serial` counts the texts that the server has shown. `hint` is shown while the box has the focus, and
// `error` below it until there is none.
export default {
  props: { id: String, label: String, text: String, serial: Number, hint: String, error: String, eager: Boolean },
  emits: ["told"],
  data() {
    return { typed: this.text, told: this.text };
  },
  watch: {
    serial() {
      if (this.typed === this.told) this.typed = this.text;
      this.told = this.text;
    },
  },
  methods: {
    tell() {
      if (this.typed === this.told) return;
      this.told = this.typed;
      this.$emit("told", this.typed);
    },
  },
  render() {
    const box = {
      dense: true,
      label: this.label,
      hint: this.hint,
      hideHint: true,
      hideBottomSpace: true,
      error: !!this.error,
      errorMessage: this.error,
      modelValue: this.typed,
      "onUpdate:modelValue": (typed) => {
        this.typed = typed;
        if (this.eager) this.tell();
      },
      onKeydown: (event) => event.key === "Enter" && this.tell(),
      onBlur: this.tell,
    };
    return Vue.h(Vue.resolveComponent("q-input"), box, this.$slots);
  },
};
